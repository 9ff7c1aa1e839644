"""Classic programs that neither a pack nor the group `classic` knew: another measure of what nobody fitted packs to."""

from __future__ import annotations

from corpora.shell_prompts.scenes.fresh.askers import ASKERS
from corpora.shell_prompts.scenes.fresh.interpreters import INTERPRETERS
from corpora.shell_prompts.scenes.fresh.libraries import LIBRARIES
from corpora.shell_prompts.scenes.fresh.screens import SCREENS
from corpora.shell_prompts.scenes.fresh.workers import WORKERS

FRESH = [*INTERPRETERS, *ASKERS, *SCREENS, *WORKERS, *LIBRARIES]
