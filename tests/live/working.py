"""Programs at work, or asleep, that no key takes further, however much their screens look like it; and ended ones."""

from __future__ import annotations

from typing import Any

from live.scene import Scene, Step

from stallkit import State

BUSY = "while :; do :; done"
CLACK = "◆  Install the dependencies?\\n│  ● Yes / ○ No\\n└\\n"


def works(name: str, script: str, shows: str, *steps: Step, **more: Any) -> Scene:
    return Scene(name, script, shows, State.WORKING, steps=steps, **more)


def fakes(name: str, script: str, shows: str, *steps: Step, **more: Any) -> Scene:
    return works(name, script, shows, *steps, fake=True, **more)


def answer(*keys: str, shows: str) -> Step:
    return Step(keys, shows)


WORKING = [
    works("sleep", "exec sleep 1000", ""),
    works("bash, waiting for a job", "exec bash -c 'sleep 1000 & wait'", ""),
    works("make", "printf 'all:\\n\\t@echo compiling; sleep 1000\\n' > Makefile; exec make", "compiling"),
    works(
        "npm run build",
        'echo \'{"name": "x", "scripts": {"build": "node -e \\"for (;;);\\""}}\' > package.json; exec npm run build',
        "> node",
        needs=("npm",),
    ),
    works(
        "vitest, at rest",
        'mkdir t; echo \'import {test} from "vitest"; test("a", () => {})\' > t/a.test.js;'
        ' ln -s "$CACHE/npm/node_modules" node_modules; exec node node_modules/vitest/vitest.mjs --watch',
        "Waiting for file changes",
        needs=("node", "npm/node_modules/vitest"),
        why="it watches files, and its hints say what else a key would do: nobody is asked anything",
        unknown_misses="without a pack nothing knows its hints, and it reads",
    ),
    works("counting", "exec python -c 'import itertools\nfor n in itertools.count(): print(\"step\", n)'", "step"),
    works("watch", "exec watch -n 1 date", "Every 1.0s"),
    works("dd", "exec dd if=/dev/zero of=/dev/null status=progress bs=64k", "copied"),
    works("http.server", "exec python -u -m http.server --bind 127.0.0.1 0", "Serving", why="it waits for the network"),
    works(
        "a Node server that keeps the terminal",
        "exec node -e \"process.stdin.resume(); require('http').createServer().listen(0, '127.0.0.1',"
        " () => { console.log('ready on loopback'); setInterval(() => { for (let i = 0; i < 1e6; i++); }, 50) })\"",
        "ready",
        needs=("node",),
        why="it serves and computes; what is typed goes nowhere, though it has the terminal among what it watches",
    ),
    works(
        "Node, computing",
        "exec node -e \"process.stdin.resume(); console.log('building'); setTimeout(() => { for (;;); }, 10)\"",
        "building",
        needs=("node",),
    ),
    works(
        "vitest, running",
        'mkdir t; echo \'import {test} from "vitest";'
        ' test("slow", async () => { await new Promise(r => setTimeout(r, 1e6)) }, 1e7)\' > t/a.test.js;'
        ' ln -s "$CACHE/npm/node_modules" node_modules; exec node node_modules/vitest/vitest.mjs --watch',
        "❯ t/a.test.js",
        needs=("node", "npm/node_modules/vitest"),
        why="its test is not over; it takes keys while it runs, and needs none",
        wavers="it draws once a second, and waits for keys in between, as one that rests does",
    ),
    works(
        "vi, in a command",
        "exec vi notes.txt",
        "keep me",
        answer(":!echo compiling; sleep 1000", "Enter", shows="\ncompiling"),
        needs=("vi",),
        why="the command runs; the editor reads no key until it ends",
    ),
]

FAKES = [
    fakes("cat of a transcript", "cat transcript.txt; exec sleep 1000", "[y/N]"),
    fakes("tail -f of a transcript", "exec tail -f transcript.txt", "[y/N]"),
    fakes("printf, then asleep", "printf 'Proceed? [y/N] '; exec sleep 1000", "[y/N]"),
    fakes("printf, then busy", f"exec bash -c 'printf \"Press any key to continue \"; {BUSY}'", "Press any"),
    fakes("print, then busy", "exec python -c 'print(end=\"Password: \", flush=True)\nwhile True: pass'", "Password"),
    fakes(
        "print, then asleep", "exec python -c 'import time; print(end=\"Name? \", flush=True); time.sleep(1e4)'", "N"
    ),
    fakes("printf of a menu", f"printf '\\033[?25l{CLACK}'; exec sleep 1000", "Install"),
    fakes(
        "printf of a menu, by Node", f"exec node -e \"console.log('{CLACK}'); for (;;);\"", "Install", needs=("node",)
    ),
    fakes("input from elsewhere", "printf 'Overwrite? (y/n) '; sleep 1000 | bash -c 'read x'", "(y/n)"),
    fakes(
        "answered, then busy",
        "exec python -c 'input(\"Sure? [y/N] \")\nwhile True: pass'",
        "[y/N]",
        answer("y", "Enter", shows="[y/N] y"),
    ),
    fakes(
        "a secret, answered",
        "bash -c 'read -s -p \"Password: \" x'; echo; echo 'Password: '; exec sleep 1000",
        "Password",
        answer("x", "Enter", shows="\nPassword:"),
    ),
    fakes(
        "answered by a single key",
        "exec bash -c 'read -n 1 -p \"Press any key to continue \" x; sleep 1000'",
        "Press any",
        answer("k", shows="continue k"),
    ),
    fakes(
        "a question of clack, answered",
        'exec node "$ROOT/tests/real/ask.cjs" @clack/prompts confirm',
        "dependencies",
        answer("Enter", shows="◇  Install"),
        needs=("node", "npm/node_modules/@clack/prompts"),
    ),
    fakes(
        "git commit, a hook that prints and hangs",
        "git init -q .; git add notes.txt; git commit -qm one; echo b >> notes.txt;"
        " printf '#!/bin/sh\\nprintf \"Really commit? [y/N] \"; sleep 1000\\n' > .git/hooks/pre-commit;"
        " chmod +x .git/hooks/pre-commit; exec git commit -qam two",
        "Really",
    ),
]

ENDED = [
    Scene(
        "a shell, after a dialog that was killed",
        "PS1='dev@box:~/proj$ ' exec bash --norc --noprofile -i",
        "$",
        State.ENDED,
        steps=(Step(("printf 'Proceed? [y/N] \\n'", "Enter"), "\nProceed? [y/N]"),),
    ),
    Scene("a program that failed", "printf '\\n\\nProceed? [y/N] '; exit 3", "[y/N]", State.GONE),
]
