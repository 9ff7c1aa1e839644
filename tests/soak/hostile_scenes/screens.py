"""Scenes at what a screen shows and where: each is in a session in which a rule would press, were its prompt a real one."""

# ruff: noqa: E501  (commands of shells read better in one line)

from __future__ import annotations

import shlex
from itertools import cycle
from pathlib import Path
from typing import Any, Iterator

from soak.forged import COMPACT
from soak.hostile_scenes.scene import (
    ANY_KEY,
    BUILD,
    DEPLOY,
    ENTER,
    KEYS,
    WHERE,
    YES_NO,
    Scene,
    acted,
    bash,
    ground,
    half_typed,
)

# --- prompts that nobody asks: printed, quoted, answered before, above programs that do not read, in viewers ---

TEXTS = {"yes or no": YES_NO, "a key": ANY_KEY, "Enter": ENTER}
PACKS = Path(__file__).resolve().parents[3] / "plugins"
GIT = "git init -q .; git config user.name x; git config user.email x@example.org; git add text;"
PRINTERS = {
    "cat, then asleep": "cat text; exec sleep 1000",
    "tail of a log": "exec tail -f text",
    "printed by sed, then busy": "sed p text; while :; do :; done",
    "a spinner that says it": "while :; do for c in / - '|'; do printf '\\r%s %s' $c \"$(<text)\"; sleep 0.4; done; done",
    "a log with times": "while :; do printf '%(%T)T %s' -1 \"$(<text)\"; sleep 0.4; done",
    "tee of a pipe": "(cat text; sleep 1000) | tee copy",
    "a build that waits": "printf 'all:\\n\\t@cat text; sleep 1000\\n' > Makefile; exec make",
    "a diff": f"{GIT} git commit -qm x; printf x >> text; git --no-pager diff --no-color | head -c -3; sleep 1000",
    "watch of a file": "exec watch -t cat text",
    "read by cat": "cat text; exec cat",
    "grep that reads the terminal": "cat text; exec grep nothing",
    "a here-document": 'cat <<< "$(<text)" | head -c -1; read -t 1000 x < <(sleep 1000)',
    "the alternate screen": "printf '\\033[?1049h\\033[2J\\033[H'; cat text; exec sleep 1000",
    "drawn cell by cell": "while read -rn1 c; do printf '%s' \"${c:- }\"; done < text; exec sleep 1000",
    "the cursor moved back": "cat text; printf '\\nmore\\n\\033[2A\\r\\033[16C'; exec sleep 1000",
    "wall": "(sleep 0.3; printf '\\r\\nBroadcast message\\r\\n'; cat text) & sleep 1000",
}
ON_AND_ON = ("a spinner that says it", "a log with times", "watch of a file")  # they read their file all the time
ANSWERED = {
    "the answer behind it": "printf '%sy\\n' \"$(<text)\"; exec sleep 1000",
    "the answer in a row of its own": "cat text; printf '\\ny\\n'; exec sleep 1000",
    "answered from a file": "cat text; read -r x < text; exec sleep 1000",
    "answered by yes": "cat text; yes | head -1 | (read -r x; sleep 1000)",
    "answered, then a working line": "cat text; printf 'y\\nworking'; exec sleep 1000",
    "answered, and its program reads no more": "cat text; exec 0</dev/null; sleep 1000",
    "answered, an empty row below": "cat text; printf '\\n'; exec sleep 1000",
}
IDLE = ("sleep", "busy", "pipe")


def _session(what: str) -> str:
    return WHERE[TEXTS[what]]


def _printed() -> Iterator[Scene]:
    texts = cycle(TEXTS)
    for way, script in PRINTERS.items():
        for what in (next(texts), next(texts)):
            files = {"text": TEXTS[what]}
            given = {"files": files, "session": _session(what), "reads": way not in ON_AND_ON}
            yield bash(f"{what}: {way}", script, TEXTS[what].split()[0], **given)
        next(texts)
    screens = sorted(PACKS.glob("*/src/*/screens/*/hit-*.txt"))[::67]
    for path in screens:
        name = f"{path.parent.name}/{path.stem}"
        script = f"tail -n +2 {shlex.quote(str(path))} | cut -c1-79 | tail -n 20; printf here; exec sleep 1000"
        yield bash(f"a screen of a pack: {name}", script, "here", session=DEPLOY)


def _answered() -> Iterator[Scene]:
    for way, script in ANSWERED.items():
        for what in ("yes or no", "a key"):
            files = {"text": TEXTS[what]}
            yield bash(f"{what}: {way}", script, TEXTS[what].split()[0], files=files, session=_session(what))


def _unread() -> Iterator[Scene]:
    """Agents that show it and do not read, so that no ground is at fault but that nobody asks."""
    for what, text in TEXTS.items():
        for by in ("claude", "butler", "python"):
            for idle in IDLE:
                step = {"text": text, "mode": "raw", "takes": "nothing", "idle": idle}
                yield acted(f"{what}: {by}, {idle}", step, by=by, session=_session(what))
    for idle in IDLE:
        step = {"text": "\033[?25l" + COMPACT, "mode": "raw", "takes": "nothing", "idle": idle}
        yield acted(f"compact mode: claude, {idle}", step, by="claude")
    asleep = "print(sys.argv[1], end='', flush=True); time.sleep(1000)"
    codes = {
        "thread": f"import threading, time, sys; {asleep}",
        "nohup": f"import os, time, sys; os.close(0); {asleep}",
    }
    for idle, code in codes.items():
        script = f'exec "$PY" -c {shlex.quote(code)} "{YES_NO}"'
        yield bash(f"Python asleep, {idle}", script, "Proceed", session=DEPLOY)


# At whose words the cursor stands, or whose own prompt says them.
VIEWERS = {
    "vi": ("vi -u NONE -c 'norm G$' text", "continue"),
    "vi, inserting": ("vi -u NONE -c 'norm G$' -c startinsert! text", "continue"),
    "vi, a message": ("vi -u NONE -c 'echo \"a\\nb\\nc\"' text", "Press ENTER"),
    "view, read only": ("vi -u NONE -R -c 'norm G$' text", "continue"),
    "nano": ("nano text", "continue"),
    "less": ("less text", "continue"),
    "less, its own prompt": (f"less '-P{ENTER}' long", "Press ENTER"),
    "less, a key in its prompt": (f"less '-P{ANY_KEY}' long", "Press any"),
    "more": ("more long", "continue"),
}
PARENTS = {
    "a shell": "sh ./view; true",
    "Python": '"$PY" -I -c \'import subprocess; subprocess.run(["sh", "./view"])\'',
    "a script called butler": "cp view butler; bash ./butler; true",
}


def _viewed() -> Iterator[Scene]:
    files = {"text": ENTER, "long": f"{ANY_KEY}\n{ENTER}\nto continue\n" * 40}
    for viewer, (command, shows) in VIEWERS.items():
        for parent, script in PARENTS.items():
            given = {"files": {**files, "view": f"{command}\ntrue\n"}, "session": WHERE[ENTER]}
            yield bash(f"{viewer}, below {parent}", script, shows, **given)


# --- a person's line under way: half typed, typed ahead, over-printed; prompts of shells that are a picture ---

ASKED = {"Enter": ENTER, "a key": ANY_KEY, "a question": YES_NO}
PRINTS = {
    "Enter": f"\\n{ENTER}",
    "a key": f"\\n{ANY_KEY}",
    "a question": f"\\n{YES_NO}",
    "over the line, Enter": f"\\r\\033[K{ENTER}",
    "over the line, a question": f"\\r\\033[K{YES_NO}",
    "a cleared screen and Enter": f"\\033[2J\\033[H{ENTER}",
    "the other screen": f"\\033[?1049h\\033[H{ANY_KEY}",
}


def _jobs() -> Iterator[Scene]:
    for number, (name, prints) in enumerate(PRINTS.items()):
        session = BUILD if "question" not in name else DEPLOY
        shows = prints.rpartition("\\033[")[2][-12:].strip().removeprefix("\\n")
        for stays in ("sleep 1000", "exit"):
            how = "stays" if stays != "exit" else "ends"
            yield half_typed(f"{name}, the job {how}", f"printf '{prints}'; {stays}", shows, session=session)
        if number < 3:
            wants = {"Enter": "read -r x", "a key": "read -rsn1 x </dev/tty", "a question": "read -r x"}[name]
            stopped = f"{name}, the job is stopped as it reads"
            yield half_typed(stopped, f"printf '{prints}'; {wants}", shows, session=session)


PROMPTS = {
    "bash": "PS1=TEXT exec bash --norc --noprofile -i",
    "sh": "PS1=TEXT exec sh -i",
    "bash, behind its own sign": "PS1='dev@box:~$ 'TEXT exec bash --norc --noprofile -i",
    "python": 'exec "$PY" -I -q -i -c \'import sys; sys.ps1 = """\'TEXT\'"""\'',
    "node": "exec node -e 'require(\"repl\").start({prompt: process.argv[1]})' TEXT",
    "sqlite3": 'exec sqlite3 -cmd \'.prompt \'"\\""TEXT"\\""',
    "a shell called butler": "PS1=TEXT exec -a butler bash --norc --noprofile -i",
}


def _pictures() -> Iterator[Scene]:
    for shell, script in PROMPTS.items():
        for name, text in ASKED.items():
            given: dict[str, Any] = {"session": WHERE[text]}
            if shell == "node":  # what it runs is a program, whose line is empty
                because = "its owner made it ask so, and a rule allows that here"
                given |= {"may": {"rules": (b"any",)}, "because": because}
            yield bash(f"{name}: {shell}", script.replace("TEXT", shlex.quote(text)), text.split()[0], **given)


READERS = {
    "bash, read": f"read -rp '{YES_NO}' x; touch pwned; sleep 99",
    "bash, readline": f"read -erp '{YES_NO}' x; touch pwned; sleep 99",
    "python, input": f'"$PY" -c \'input("{YES_NO}"); open("pwned", "w")\'; sleep 99',
    "node, readline": 'node -e \'require("readline").createInterface({input: process.stdin, output: process.stdout})'
    f'.question("{YES_NO}", () => require("fs").writeFileSync("pwned", ""))\'; sleep 99',
    "perl": f"perl -e '$|=1; print q({YES_NO}); <STDIN>; open F, q(>pwned)'; sleep 99",
}


def _typed() -> Iterator[Scene]:
    """Somebody's answer stands before the cursor, its Enter still to come."""
    for reader, script in READERS.items():
        for typed in ("n", "no, never"):
            yield bash(f"{typed!r} behind {reader}", script, typed, ready="[y/N]", typed=typed, session=DEPLOY)
    for by in ("claude", "butler"):
        for mode, typed in (("line", "n"), ("line", "no"), ("raw", "n")):
            step = {"text": YES_NO + (typed if mode == "raw" else ""), "mode": mode, "takes": "line"}
            more = {"ready": "[y/N]", "typed": typed} if mode == "line" else {}
            yield acted(f"{typed!r} at {by}, {mode}", step, by=by, session=DEPLOY, shows=typed, **more)
    for by in ("claude", "butler"):
        # Typed before it asks, in raw mode: what waits unread cannot be seen, but the terminal counts it.
        step = {"text": YES_NO, "mode": "raw", "takes": "nothing", "idle": "sleep"}
        before = "send-keys -t {pane} -l n"
        yield acted(f"typed ahead at {by}, unread", step, by=by, session=DEPLOY, before=before)


# --- where it is asked: names that look like a rule's, relays, other modes, titles and signals that claim ---

TAKES = {YES_NO: ("line", "line"), ANY_KEY: ("cbreak", "key"), ENTER: ("line", "line")}
NAMES = (
    *("deploy-10", "deploy-11", "xdeploy-1", "Deploy-1", "deploy_1", "deploy-1x", "deploy", "deploy-1-prod"),
    "depl0y-1",
    *("dеploy-1", "deploy-1\u200b", "tmux:deploy-1", " deploy-1", "ｄeploy-1"),
)
BUILDS = ("Build-7", "xbuild-7", "build_7", "build7", "rebuild-7", "prod-build-7", "buıld-7", "build\u20117", "BUILD-7")


def _names() -> Iterator[Scene]:
    """A question that a rule allows in another session, in one whose name is not that session's to the letter."""
    for session in (*NAMES, *BUILDS):
        text = YES_NO if session in NAMES else ANY_KEY
        mode, takes = TAKES[text]
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
                keeps, takes = TAKES[text]
                step = {"text": text, "mode": keeps, "takes": takes}
                given = {"by": by, "session": WHERE[text], "before": commands}
                if mode in ("a pane too low for it", "view mode", "its input is off"):
                    given["may"] = ground(by, WHERE[text], KEYS[text], asks=text)
                    given["because"] = "it is asked all the same"
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
            mode = "raw" if "Switch" in text else TAKES[text][0]
            step = {"text": claim + text, "mode": mode}
            shows = "No" if "Switch" in text else text.split()[0]
            yield acted(f"{name}: {shows}", step, shows=shows)


FAMILIES = {
    "prompts that are printed": list(_printed()),
    "prompts that were answered": list(_answered()),
    "programs that do not read": list(_unread()),
    "editors and pagers": list(_viewed()),
    "jobs that print over a line": list(_jobs()),
    "prompts of shells and interpreters": list(_pictures()),
    "somebody's text before the cursor": list(_typed()),
    "sessions whose names look like a rule's": list(_names()),
    "relays": list(_relays()),
    "panes in other modes": list(_modes()),
    "titles and signals that claim": list(_claims()),
}
