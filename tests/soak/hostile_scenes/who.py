"""Programs that look like an agent and are none, and programs below an agent that ask for themselves."""

# ruff: noqa: E501  (commands of shells read better in one line)

from __future__ import annotations

import json
import shlex
from typing import Iterator

from soak.forged import COMPACT, EFFORT
from soak.hostile_scenes.scene import (
    ACTOR,
    ANY_KEY,
    ENTER,
    NODE_ACTOR,
    WHERE,
    YES_NO,
    Scene,
    acted,
    bash,
    ground,
    last_words,
    program,
)

__all__ = ["FAMILIES"]

DIALOGS = {"compact mode": "\033[?25l" + COMPACT, "effort": "\033[?25l" + EFFORT}
ASKS = {"yes or no": YES_NO, "a key": ANY_KEY, "a question": "Shall I continue? ", "node's": "? Install it? › (y/N)"}
PY = f"-I -S {ACTOR} play.json"
# How a program that is not the agent NAME takes its looks.
GUISES = {
    "argv[0] is the agent's": f'exec -a NAME "$PY" {PY}',
    "argv[0] is the agent's path": f'exec -a /usr/local/bin/NAME "$PY" {PY}',
    "a link of its name to Python": f'ln -s "$PY" NAME; exec ./NAME {PY}',
    "the agent's name as an argument": f'exec "$PY" {PY} NAME /usr/local/bin/NAME',
    "the agent's package as an argument": f'exec "$PY" {PY} /usr/lib/node_modules/@anthropic-ai/claude-code/cli.js',
    "a folder of its name": f'mkdir NAME; cp {ACTOR} NAME/run.py; exec "$PY" -I -S NAME/run.py play.json',
    "a longer name": f'cp {ACTOR} NAME-helper; exec "$PY" -I -S ./NAME-helper play.json',
    "its name and a blank": f"cp {ACTOR} 'NAME '; exec \"$PY\" -I -S './NAME ' play.json",
    "its name in capitals": f'cp {ACTOR} {{}}; exec "$PY" -I -S ./{{}} play.json',
    "its name with a letter of another script": f'cp {ACTOR} ХNAME; exec "$PY" -I -S ./ХNAME play.json',
    "node, its title": "exec node TITLED play.json",
    "node, a script beside it": "mkdir -p node_modules/@anthropic-ai; exec node " + str(NODE_ACTOR) + " play.json",
    "the kernel's name for it": f'exec "$PY" {PY}',
}
PERL = "$|=1; $0 = q(NAME); system q(stty raw -echo); print q(TEXT); sysread STDIN, $x, 9; open F, q(>pwned); sleep 99"
BASH = "printf 'TEXT'; read -r x; touch pwned; sleep 99"


def _disguised() -> Iterator[Scene]:
    for agent, texts in (("claude", {**DIALOGS, "yes or no": YES_NO}), ("butler", ASKS)):
        for number, (guise, script) in enumerate(GUISES.items()):
            what, text = list(texts.items())[number % len(texts)]
            step = {"text": text, "mode": "raw", "title": agent if "title" in guise else ""}
            if "kernel" in guise:
                step["comm"] = agent
            run = script.replace("TITLED", str(NODE_ACTOR)).format(agent.upper(), agent.upper())
            given = {"files": {"play.json": json.dumps([step])}, "reads": False}
            yield bash(f"{guise}: {what} of {agent}", run.replace("NAME", agent), last_words(text), **given)
    for agent in ("claude", "butler"):
        for what, text in (("yes or no", YES_NO), ("a key", ANY_KEY)):
            perl = PERL.replace("NAME", agent).replace("TEXT", text)
            yield bash(f"perl, its title: {what} of {agent}", f"exec perl -e {shlex.quote(perl)}", last_words(text))
            files = {f"{agent}.sh": BASH.replace("TEXT", text)}
            yield bash(f"a shell's script {agent}.sh: {what}", f"exec bash {agent}.sh", last_words(text), files=files)


# Each asks on the agent's terminal; what answers is a person's, whatever their words are.
CHILDREN = {
    "bash, a line": f"bash -c 'read -rp \"{YES_NO}\" x; touch pwned; sleep 99'",
    "bash, one key": f"bash -c 'read -rsn1 -p \"{ANY_KEY}\" x; touch pwned; sleep 99'",
    "sh": f"sh -c 'printf \"{ENTER}\"; read x; touch pwned; sleep 99'",
    "python": f'$PY -c \'input("{YES_NO}"); open("pwned", "w"); import time; time.sleep(99)\'',
    "node": 'node -e \'process.stdin.setRawMode(true); process.stdout.write("Proceed? [y/N] ");'
    'process.stdin.on("data", (d) => require("fs").writeFileSync("pwned", d))\'',
    "one that takes the agent's name": 'bash -c \'exec -a butler bash -c "read -rp \\"Proceed? [y/N] \\" x; touch pwned; sleep 99"\'',
    "one that is called claude": f'bash -c \'exec -a claude $PY -c "input(\\"{YES_NO}\\"); open(\\"pwned\\", \\"w\\")"\'',
    "rm -i": "touch a; rm -i a; test -e a || touch pwned; sleep 99",
    "make": f"printf 'all:\\n\\t@read -p \"{YES_NO}\" x; touch pwned\\n' > Makefile; make SHELL=/bin/bash; sleep 99",
    "git, a prompt of its credential": "GIT_TERMINAL_PROMPT=1 git -c core.askPass= credential fill < url; sleep 99",
}


def _below() -> Iterator[Scene]:
    for agent in ("claude", "butler"):
        for what, command in CHILDREN.items():
            step = {"text": "● I run it.\n\n", "spawn": f"clear; {command}"}
            files = {"url": "protocol=https\nhost=example.org\n\n"}
            shows = {"rm -i": "remove", "git, a prompt of its credential": "Username"}.get(what, "")
            shows = shows or ("any key" if "key" in what else "ENTER" if what == "sh" else "Proceed?")
            given = {"by": agent, "reads": True, "shows": shows, "files": files}
            yield acted(f"{what}, below {agent}", step, **given)


# Code that Node.js runs beside, or in place of, the script of an agent.
CLI = "node_modules/@anthropic-ai/claude-code/cli.js"
CODE = (
    "process.stdin.setRawMode(true); process.stdout.write(TEXT);"
    ' process.stdin.on("data", (d) => require("fs").appendFileSync("pwned", d)); setInterval(() => 0, 1e6)'
)
LOADS = {
    "node --eval=": 'exec node --eval="$(cat code.js)" "$PWD/CLI"',
    "node --require=": 'exec node --require=./code.js "$PWD/CLI"',
    "node --import=": 'exec node --import=./code.js "$PWD/CLI"',
    "NODE_OPTIONS": 'NODE_OPTIONS="--require ./code.js" exec node "$PWD/CLI"',
}


def _loaded() -> Iterator[Scene]:
    for how, run in LOADS.items():
        for what, text in {"compact mode": DIALOGS["compact mode"], "yes or no": YES_NO}.items():
            code = CODE.replace("TEXT", json.dumps(text.replace("\n", "\r\n")))
            files = {CLI: "", "code.js": code}
            yield bash(f"{how}: {what}", run.replace("CLI", CLI), last_words(text), files=files, reads=False)


def _words_of_another() -> Iterator[Scene]:
    """Who reads says nothing; another program draws."""
    for agent in ("claude", "butler"):
        for what, text in (DIALOGS | {"yes or no": YES_NO}).items():
            drawn = shlex.quote(text.replace("\n", "\r\n"))
            for who, child in {"a child": "", "a child of a child": "bash -c "}.items():
                draws = f"sleep 0.5; printf %s {drawn}; sleep 99"
                run = f"({child}{shlex.quote(draws) if child else draws}) & exec {program(agent)}"
                files = {"play.json": json.dumps([{"text": "", "mode": "raw"}])}
                yield bash(f"{who} of {agent} draws {what}", run, last_words(text), files=files, reads=False)
    for text, session in WHERE.items():
        for where in ("/dev/null", "log"):
            run = f"printf %s {shlex.quote(text)}; exec {program('python')} >{where} 2>&1"
            files = {"play.json": json.dumps([{"text": "Wipe the disk? [Y/n] ", "mode": "raw"}])}
            given = {"files": files, "session": session, "reads": False}
            yield bash(f"{text.strip()}, its own words go to {where}", run, last_words(text), **given)


# What the same agents ask for themselves, which the grounds allow, so that no family passes by being mute.
def _themselves() -> Iterator[Scene]:
    for agent in ("claude", "butler"):
        for mode, keys in (("line", b"y\n"), ("raw", b"y\r")):
            step = {"text": YES_NO, "mode": mode, "takes": "line" if mode == "line" else "edit"}
            because = "a rule of the profile allows it to agents, and this process is that program"
            yield acted(f"{agent}, {mode}", step, by=agent, may=ground(agent, "", keys), because=because)


FAMILIES = {
    "programs that look like an agent": list(_disguised()),
    "children of an agent": list(_below()),
    "an agent itself": list(_themselves()),
    "code beside an agent's script": list(_loaded()),
    "words of another program": list(_words_of_another()),
}
