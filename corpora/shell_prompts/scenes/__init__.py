"""The scenes: which program, what is typed, and what it then asks."""

from __future__ import annotations

from corpora.shell_prompts.scenes.classic import CLASSIC
from corpora.shell_prompts.scenes.fresh import FRESH
from corpora.shell_prompts.scenes.interactive import INTERACTIVE
from corpora.shell_prompts.scenes.more import MORE
from corpora.shell_prompts.scenes.spoken import SPOKEN
from corpora.shell_prompts.scenes.tools import TOOLS

__all__ = ["CLASSIC", "FRESH", "MORE", "SPOKEN", "UNSEEN"]

# Programs that are not in the development corpus: they test signatures that were written before.
UNSEEN = [*TOOLS, *INTERACTIVE]
