"""What a terminal's own server does between the last look and the press: another program, another mode, a new size."""

from __future__ import annotations

import shlex
from typing import Iterator, Mapping

from soak.forged import COMPACT
from soak.hostile_scenes.losses import ANY_KEY, ENTER
from soak.hostile_scenes.scene import Act, Scene, actor, last_words, played

__all__ = ["FAMILIES"]

HARMFUL = "All files will be removed.\n\nPress any key to continue..."


def _again(text: str, program: str) -> str:
    """A shell's command that shows a text and reads keys as that program, and says that it has switched."""
    play = {"text": text, "mode": "raw", "switched": True}
    return shlex.quote(f"printf '\\033[2J'; PATH=$PWD:$PATH exec {actor(program, play)}")


def _acts(text: str, program: str) -> Mapping[str, str]:
    me, moved = "$(tmux display-message -p '#{session_name}')", "s=$(tmux display-message -p '#{session_name}')"
    return {
        "another program in the same pane": f"tmux respawn-pane -k {_again(HARMFUL, program)}; sleep 20",
        "the same words of another program": f"tmux respawn-pane -k {_again(text, program)}; sleep 20",
        "another session of the same name": (
            f"{moved}; tmux new-session -d -s other-$s -c $PWD {_again(text, program)} ';'"
            " kill-session -t =$s ';' rename-session -t =other-$s $s; sleep 20"
        ),
        "copy mode": "tmux copy-mode",
        "keys for all panes": "tmux split-window -d -l 3 'cat > got' ';' set-window-option synchronize-panes on",
        "keys for all panes, of one that was alone": "tmux set-window-option synchronize-panes on",
        "a narrower window": "tmux resize-window -x 60",
        "a lower window": "tmux resize-window -y 9",
        "one of two panes": "tmux split-window -d -l 5 'sleep 1000'",
        "broken out into a window of its own": "tmux new-window -d 'sleep 1000' ';' split-window -d 'sleep 1000'",
        "a group of sessions": f"tmux new-session -d -t {me} -s group-{me} ';' resize-window -x 70",
    }


def _changed() -> Iterator[Scene]:
    dialog = "\033[?25l" + COMPACT
    for program, text in (("installer", ANY_KEY), ("installer", ENTER), ("claude", dialog)):
        for name, first in _acts(text, program).items():
            play = {"text": text, "mode": "raw", "first": first}
            then = HARMFUL if "window" in name or "in the same pane" in name else text
            play["next"] = {"text": then, "mode": "raw"}
            after = "removed" if then == HARMFUL else last_words(text)[:6]
            yield played(f"{name}: {last_words(text)}", play, program=program, act=Act.SWITCH, after=after)


FAMILIES = {"what a server does in between": list(_changed())}
