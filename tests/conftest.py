"""What is no test."""

from __future__ import annotations

import os

# Other people's distributions, some broken on purpose; programs that scenes run.
collect_ignore = ["fixtures", "soak", "third_party/tinkerer"]
if os.environ.get("STALLKIT_INSTALLED") is None:
    collect_ignore.append("packs/test_wheels.py")  # on the checkout it would compare each file with itself
if os.environ.get("STALLKIT_NIGHTLY") != "1":
    collect_ignore.append("nightly")  # takes long: scripts/nightly
