"""The words of a program that asks inside an agent's work, as its agent shows them."""

from __future__ import annotations

import pytest

from stallkit.signals.collect import last_prompt
from stallkit.terminal.screen import Screen

GEMINI = """\
✦ Which one? Shall I start?

╭──────────────────────────────────────────────────╮
│ ⊶  Shell ./ask.sh                 (Tab to focus) │
│                                                  │
│ {prompt:<49}│
╰──────────────────────────────────────────────────╯

 ! Shell awaiting input (Tab to focus)       ? for shortcuts
────────────────────────────────────────────────────
 >   Type your message or @path/to/file
 workspace (/directory)          no sandbox     Auto
"""
QWEN = """\
  > go on with part 2

  ◆ I'll do that now.

  ⊷ Shell ./ask.sh (Look at the tree)   (ctrl+f to focus) 20s
    {prompt}
    0.0 KB

  ⠏ Recalibrating the humor-o-meter. (0s · ↓ 30 tokens · esc to cancel)
────────────────────────────────────────────────────
*   Type your message or @path/to/file
────────────────────────────────────────────────────
  ➜ proj · git:(main) · fake-coder
  YOLO mode (shift + tab to cycle)
"""


@pytest.mark.parametrize("screen", [GEMINI, QWEN])
@pytest.mark.parametrize(
    "prompt", ["Install to /usr/local? [y/N]", "Password for deploy@example.com:", "Go on (yes/no)", "删除？"]
)
def test_they_stand_above_the_composer(screen: str, prompt: str) -> None:
    assert last_prompt(Screen.from_text(screen.format(prompt=prompt))) == prompt


@pytest.mark.parametrize("screen", [GEMINI, QWEN])
def test_what_an_earlier_message_asked_is_none(screen: str) -> None:
    assert last_prompt(Screen.from_text(screen.format(prompt="Compiling 14 of 20"))) == ""
