"""Classic programs that no corpus held when they were driven: to measure packs on what nobody fitted them to."""

from __future__ import annotations

from corpora.shell_prompts.scenes.classic.askers import ASKERS
from corpora.shell_prompts.scenes.classic.interpreters import INTERPRETERS
from corpora.shell_prompts.scenes.classic.screens import SCREENS
from corpora.shell_prompts.scenes.classic.workers import WORKERS

CLASSIC = [*INTERPRETERS, *ASKERS, *SCREENS, *WORKERS]
