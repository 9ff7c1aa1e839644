"""Where it is asked: sessions whose names look like a rule's, relays, other modes, titles and signals that claim."""

# ruff: noqa: E501  (commands of shells read better in one line)

from __future__ import annotations

import shlex
from typing import Iterator

from soak.forged import COMPACT
from soak.hostile_scenes.scene import ANY_KEY, BUILD, DEPLOY, ENTER, KEYS, WHERE, YES_NO, Scene, acted, bash, ground

__all__ = ["FAMILIES"]

TEXTS = {YES_NO: ("line", "line"), ANY_KEY: ("cbreak", "key"), ENTER: ("line", "line")}
NAMES = (
    *(
        "deploy-10",
        "deploy-11",
        "xdeploy-1",
        "Deploy-1",
        "deploy_1",
        "deploy-1x",
        "deploy",
        "deploy-1-prod",
        "depl0y-1",
    ),
    *("dеploy-1", "deploy-1\u200b", "tmux:deploy-1", " deploy-1", "ｄeploy-1"),
)
BUILDS = ("Build-7", "xbuild-7", "build_7", "build7", "rebuild-7", "prod-build-7", "buıld-7", "build\u20117", "BUILD-7")


def _names() -> Iterator[Scene]:
    """A question that a rule allows in another session, in one whose name is not that session's to the letter."""
    for session in (*NAMES, *BUILDS):
        text = YES_NO if session in NAMES else ANY_KEY
        mode, takes = TEXTS[text]
        step = {"text": text, "mode": mode, "takes": takes}
        yield acted(f"{text.split()[0]} in {session!r}", step, session=session)
    for name in (DEPLOY, BUILD):
        step = {"text": f"\033]2;{name}\a" + YES_NO, "mode": "line", "takes": "line"}
        yield acted(f"a title {name}", step, before=f"rename-window -t {{pane}} {name}")
        step = {"text": f"\033k{name}\033\\" + YES_NO, "mode": "line", "takes": "line"}
        yield acted(f"a window's name {name}, by its program", step, shows="[y/N]")
    step = {"text": "Deploy to production now? [y/N] ", "mode": "line", "takes": "line"}
    yield acted("what the rule never allows", {**step, "text": "Deploy to prod now? [y/N] "}, session=DEPLOY)
    yield acted("what the rule never allows, in capitals", {**step, "text": "PROD: go on? [y/N] "}, session=DEPLOY)
    yield acted("what the rule never allows, within a word", step, session=DEPLOY)


INSIDE = {
    "a question that nobody asks": (f"printf '{YES_NO}'; exec sleep 1000", YES_NO),
    "a key that nobody asks for": (f"printf '{ANY_KEY}'; exec sleep 1000", ANY_KEY),
    "a secret": (f"read -rsp '{ENTER}' x; touch pwned", ENTER),
    "a shell": (f"PS1={shlex.quote(YES_NO)} exec bash --norc --noprofile -i", YES_NO),
    "a dialog": (f"printf '\\033[?25l%s' {shlex.quote(COMPACT)}; exec cat", YES_NO),
}
SPAWN = "-I -c 'import pty, sys; pty.spawn(sys.argv[1:])' bash --norc --noprofile -c {}"
RELAYS = {
    "script": "script -q -c {} /dev/null",
    "a link called ssh": f'ln -s "$PY" ssh; ./ssh {SPAWN}',
    "a link called docker": f'ln -s "$PY" docker; ./docker {SPAWN}',
    "a butler that relays": f'ln -s "$PY" butler-relay; exec -a butler ./butler-relay {SPAWN}',
    "tmux": "env -u TMUX tmux -f /dev/null -S ./in new-session {} ';' set status off ';' set destroy-unattached on",
}


def _relays() -> Iterator[Scene]:
    for relay, template in RELAYS.items():
        for what, (command, text) in INSIDE.items():
            inner = f"bash --norc --noprofile -c {shlex.quote(command)}" if relay in ("script", "tmux") else command
            shows = "No" if what == "a dialog" else text.split()[0]
            yield bash(f"{what}, behind {relay}", template.format(shlex.quote(inner)), shows, session=WHERE[text])


MODES = {
    "copy mode": "copy-mode -t {pane}",
    "keys for all panes": "split-window -d -t {pane} -l 4 'cat > got2'\nset-window-option -t {pane} synchronize-panes on",
    "a pane too low for it": "resize-window -t {pane} -y 2",
    "view mode": "list-keys",
    "a clock": "clock-mode -t {pane}",
    "its input is off": "select-pane -d -t {pane}",
}


def _modes() -> Iterator[Scene]:
    for mode, commands in MODES.items():
        for text in (YES_NO, ANY_KEY):
            for by in ("claude", "butler"):
                keeps, takes = TEXTS[text]
                step = {"text": text, "mode": keeps, "takes": takes}
                given = {"by": by, "session": WHERE[text], "before": commands}
                if mode in ("a pane too low for it", "view mode", "its input is off"):
                    given |= {
                        "may": ground(by, WHERE[text], KEYS[text], asks=text),
                        "because": "it is asked all the same",
                    }
                yield acted(f"{mode}: {text.split()[0]} of {by}", step, **given)


CLAIMS = {
    "a title of Claude Code": "\033]2;✳ Claude Code\a",
    "a title that it waits": "\033]0;claude: waiting for input\a",
    "an icon's name": "\033]1;butler\a",
    "a notice": "\033]777;notify;claude;waiting for your input\a",
    "another notice": "\033]9;claude needs your input\a",
    "a shell's mark": "\033]133;A\a\033]133;B\a",
    "a shell's mark of a running command": "\033]133;C;claude\a",
    "progress": "\033]9;4;3\a",
    "a folder": "\033]7;file://localhost/srv/trusted\a",
    "a user's variable": "\033]1337;SetUserVar=agent=Y2xhdWRl\a",
    "tmux's passthrough": "\033Ptmux;\033\033]2;claude\a\033\\",
    "a link": "\033]8;;file:///usr/local/bin/claude\aclaude\033]8;;\a ",
    "a bell": "\a\a\a",
}


def _claims() -> Iterator[Scene]:
    for number, (name, claim) in enumerate(CLAIMS.items()):
        for text in (YES_NO, ANY_KEY) if number % 2 else (YES_NO, "\033[?25l" + COMPACT):
            mode = "raw" if "Switch" in text else TEXTS[text][0]
            step = {"text": claim + text, "mode": mode}
            shows = "No" if "Switch" in text else text.split()[0]
            yield acted(f"{name}: {shows}", step, shows=shows)


FAMILIES = {
    "sessions whose names look like a rule's": list(_names()),
    "relays": list(_relays()),
    "panes in other modes": list(_modes()),
    "titles and signals that claim": list(_claims()),
}
