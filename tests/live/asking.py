"""Programs that wait for a key, driven there: what they ask is the last that they did."""

from __future__ import annotations

from typing import Any

from live.scene import CHOICES, TYPED, Scene, Step

from stallkit import Kind, State

SECRET = frozenset({Kind.SECRET})
TEXT = frozenset({Kind.TEXT, Kind.QUESTION})
PROMPT = frozenset({Kind.REPL_PROMPT})
EDITOR = frozenset({Kind.EDITOR})
PAGER = frozenset({Kind.PAGER})
KEY = frozenset({Kind.PRESS_KEY})


def asks(name: str, script: str, shows: str, kinds: frozenset[Kind], *steps: Step, **more: Any) -> Scene:
    return Scene(name, script, shows, State.WAITING, kinds, steps, **more)


def press(*keys: str, shows: str) -> Step:
    return Step(keys, shows)


REPOSITORY = "git init -q .; git add notes.txt other.txt; git commit -qm one; echo b >> notes.txt; "
RAW = "process.stdin.setRawMode(true); process.stdin.resume(); process.stdout.write"
LINES = "require('readline').createInterface({input: process.stdin, output: process.stdout}).question"

SHELL = [
    asks("read", "exec bash -c 'read x'", "", TYPED, why="a bare read prints nothing; only the kernel knows"),
    asks("read -p, words nobody listed", "exec bash -c 'read -p \"Whither now, and why \" x'", "Whither", TYPED),
    asks("read -p", "exec bash -c 'read -p \"Continue anyway? [Y/n] \" x'", "[Y/n]", CHOICES),
    asks("read -s", "exec bash -c 'read -s -p \"Tell me, quietly \" x'", "Tell me", SECRET),
    asks("read -n 1", "exec bash -c 'read -n 1 -p \"Left, or right \" x'", "Left", KEY | TYPED),
    asks("read in German", "exec bash -c 'read -p \"Wie soll das Ding heissen, bitte \" x'", "bitte", TYPED),
    asks(
        "read, narrow",
        "exec bash -c 'read -p \"The folder is not empty. Overwrite what is in it? [y/N] \" x'",
        "[y/N]",
        CHOICES,
        size=(30, 12),
    ),
    asks("select", "exec bash -c 'select x in apple pear; do break; done'", "#?", CHOICES | TYPED),
    asks(
        "cat",
        "exec cat",
        "",
        TYPED,
        why="nobody redirected its input: it reads the terminal, for ever",
    ),
    asks("rm -i", "exec rm -i notes.txt", "notes.txt", CHOICES),
    asks("cp -i", "exec cp -i notes.txt other.txt", "other.txt", CHOICES),
    asks("ed", "exec ed notes.txt", "8", TYPED | EDITOR, needs=("ed",), why="it printed a count and reads commands"),
]

PYTHON = [
    asks("input", "exec python -c 'input(\"Name of the ship \")'", "ship", TEXT),
    asks("getpass", "exec python -c 'import getpass; getpass.getpass()'", "assword", SECRET),
    asks(
        "cbreak",
        "exec python -c 'import sys, tty; tty.setcbreak(0); print(\"Turn the page when done\"); sys.stdin.read(1)'",
        "Turn the page",
        KEY | TYPED,
    ),
    asks("python", "exec python -q", ">>>", PROMPT),
    asks("click.confirm", "exec python -c 'import click; click.confirm(\"Ship it\")'", "[y/N]", CHOICES),
    asks(
        "questionary, select",
        "PYTHONPATH=$CACHE/programs exec python -c"
        ' \'import questionary as q; q.select("Which way", ["up", "down"]).ask()\'',
        "down",
        CHOICES,
        needs=("programs/questionary",),
    ),
    asks(
        "questionary, text",
        "PYTHONPATH=$CACHE/programs exec python -c 'import questionary as q; q.text(\"Which way\").ask()'",
        "Which way",
        TEXT,
        needs=("programs/questionary",),
    ),
    asks(
        "pip uninstall",
        "python -m venv --without-pip own; cd own/lib/python*/site-packages; mkdir demo-1.dist-info;"
        " cd demo-1.dist-info; printf 'Metadata-Version: 2.1\\nName: demo\\nVersion: 1\\n' > METADATA;"
        " echo 'demo-1.dist-info/METADATA,,' > RECORD; cd; exec pip --python own uninstall demo",
        "(Y/n)",
        CHOICES,
        why="environment and distribution are made up, in the scene's own folder",
    ),
]

NODE = [
    asks("readline", f"exec node -e \"{LINES}('Tell me where ', () => 0)\"", "where", TEXT, needs=("node",)),
    asks(
        "raw mode",
        f"exec node -e \"{RAW}('left or right, said the fork')\"",
        "fork",
        KEY | TYPED,
        needs=("node",),
    ),
    asks("node", "exec node", ">", PROMPT, needs=("node",)),
    asks("npm init", "exec npm init", "package name", TYPED, needs=("npm",)),
    asks(
        "npx",
        'mkdir tool; echo \'{"name": "tool", "version": "1.0.0", "bin": "t.js"}\' > tool/package.json;'
        " echo 0 > tool/t.js; exec npx --offline --package=file:./tool tool",
        "Ok to proceed",
        CHOICES,
        needs=("npx",),
    ),
    *(
        asks(
            f"{library}, {kind}",
            f'exec node "$ROOT/tests/real/ask.cjs" {library} {kind}',
            {"text": "called", "confirm": "dependencies", "password": "token"}.get(kind, "Blue"),
            frozenset({Kind.SECRET if kind == "password" else Kind(kind)}),
            needs=("node", f"npm/node_modules/{library}"),
            size=size,
        )
        for library, kind, size in (
            ("inquirer", "confirm", (80, 24)),
            ("inquirer", "select", (80, 24)),
            ("@inquirer/prompts", "password", (80, 24)),
            ("prompts", "text", (80, 24)),
            ("prompts", "multiselect", (40, 16)),
            ("enquirer", "select", (80, 24)),
            ("@clack/prompts", "select", (80, 24)),
            ("@clack/prompts", "text", (40, 16)),
            ("@clack/prompts", "confirm", (80, 24)),
        )
    ),
]

GIT = [
    asks("git add -p", REPOSITORY + "exec git add -p", "Stage this hunk", CHOICES),
    asks("git clean -i", REPOSITORY + "exec git clean -i", "What now", CHOICES | TYPED),
    asks("git commit, in vi", REPOSITORY + "GIT_EDITOR=vi exec git commit -a", "Please enter", EDITOR, needs=("vi",)),
    asks(
        "git rebase -i, in nano",
        REPOSITORY + "git commit -qam two; GIT_EDITOR=nano exec git rebase -i --root",
        "pick",
        EDITOR,
        needs=("nano",),
    ),
    asks("git diff, in less", REPOSITORY + "seq 99 >> notes.txt; exec git -c core.pager=less diff", "+9", PAGER),
    asks(
        "git clone, who are you",
        "printf '%s\\n' 'import http.server as h' 'class H(h.BaseHTTPRequestHandler):' ' def do_GET(s):'"
        "  '  s.send_response(401)' '  s.send_header(\"WWW-Authenticate\", \"Basic realm=x\")' '  s.end_headers()'"
        " ' def log_message(s, *a): pass'"
        ' \'server = h.HTTPServer(("127.0.0.1", 0), H)\' \'open("port", "w").write(str(server.server_port))\''
        " 'server.handle_request()' > s.py; python s.py & while [ ! -s port ]; do :; done;"
        ' exec git clone "http://127.0.0.1:$(cat port)/x"',
        "Username",
        TEXT | {Kind.LOGIN},
    ),
]

FULL_SCREEN = [
    # vim-tiny names itself nowhere on its screen: for one without a pack of its own it is a full-screen program
    asks("vi", "exec vi notes.txt", "keep me", EDITOR | {Kind.TUI}, needs=("vi",)),
    asks("nano", "exec nano notes.txt", "keep me", EDITOR, needs=("nano",)),
    asks("less", "exec less long.txt", "line 1\n", PAGER),
    asks("more", "exec more long.txt", "--More--", PAGER),
    asks("dialog, a menu", "exec dialog --menu Pick 0 0 0 a Apple b Pear", "Pear", CHOICES, needs=("dialog",)),
    asks(
        "dialog, a field",
        "exec dialog --inputbox 'What is it called' 8 40",
        "called",
        TEXT,
        needs=("dialog",),
    ),
    asks("whiptail", "exec whiptail --yesno 'Go on' 8 40", "<No>", CHOICES, needs=("whiptail",)),
    asks("mc", "exec mc -u -x", "10Quit", frozenset({Kind.TUI, Kind.REPL_PROMPT}), needs=("mc",)),
    asks("fzf, in Go", "exec fzf < long.txt", "500/500", CHOICES, needs=("fzf",)),
    asks("fzf, narrow", "exec fzf --height 8 < long.txt", "500/500", CHOICES, needs=("fzf",), size=(40, 16)),
    asks("maturin, in Rust", "exec maturin new demo", "pyo3", CHOICES, needs=("maturin",)),
]

SYSTEM = [
    asks("sqlite3", "exec sqlite3", "sqlite>", PROMPT, needs=("sqlite3",)),
    asks("bc", "exec bc -q", "", PROMPT | TYPED, needs=("bc",), why="it prints no prompt of its own"),
    asks(
        "openssl req",
        "exec openssl req -x509 -newkey rsa:2048 -nodes -keyout k -out c",
        "Country Name",
        TYPED,
        needs=("openssl",),
    ),
    asks("ssh-keygen", "exec ssh-keygen -t ed25519 -f key", "passphrase", SECRET, needs=("ssh-keygen",)),
    asks("unzip", "zip -q a.zip notes.txt; exec unzip a.zip", "replace", CHOICES, needs=("zip", "unzip")),
    asks("zip -e", "exec zip -e a.zip notes.txt", "password", SECRET, needs=("zip",)),
    asks(
        "fdisk",
        "truncate -s 8M disk; exec fdisk disk",
        "Command (m for help)",
        TYPED,
        needs=("fdisk",),
        why="the disk is a file in the scene's own folder",
    ),
    asks(
        "apt-get remove",
        "mkdir -p state/lists/partial cache/archives/partial; printf 'Package: demo\\nStatus: install ok installed\\n"
        "Version: 1\\nArchitecture: all\\nMaintainer: x\\nDescription: x\\n\\n' > status;"
        " exec apt-get -o Dir::State=$PWD/state -o Dir::State::status=$PWD/status -o Dir::Cache=$PWD/cache"
        " -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=/dev/null -o Dir::Bin::dpkg=/bin/false"
        " -o Dir::Log=$PWD -o Debug::NoLocking=1 remove demo",
        "Do you want to continue",
        CHOICES,
        needs=("apt-get",),
        why="it knows one package, which is made up, and its dpkg is false: whatever is pressed, nothing is removed",
    ),
    asks(
        "dpkg, a changed conffile",
        "for v in 1 2; do mkdir -p p$v/DEBIAN p$v/etc; echo $v > p$v/etc/demo.conf; echo /etc/demo.conf >"
        " p$v/DEBIAN/conffiles; printf 'Package: demo\\nVersion: %s\\nArchitecture: all\\nMaintainer: x\\n"
        "Description: x\\n' $v > p$v/DEBIAN/control; dpkg-deb -b p$v >/dev/null; done;"
        " mkdir -p root/var/lib/dpkg/updates root/var/lib/dpkg/info; : > root/var/lib/dpkg/status;"
        " D='dpkg --root=root --force-not-root --log=log'; $D -i p1.deb >/dev/null; echo mine >"
        " root/etc/demo.conf; exec $D -i p2.deb",
        "[default=N]",
        CHOICES,
        needs=("dpkg-deb",),
        why="all that dpkg knows and writes is below the scene's own folder",
    ),
    asks(
        "gpg, with pinentry-curses",
        "exec gpg --symmetric notes.txt",
        "assphrase",
        SECRET,
        needs=("gpg", "gpg-agent", "pinentry-curses"),
    ),
    asks(
        "gpg --full-generate-key",
        "exec gpg --full-generate-key",
        "Your selection",
        CHOICES | TYPED,
        needs=("gpg", "gpg-agent"),
    ),
    asks("perl", "exec perl -e '$| = 1; print qq(Which of them, then); <STDIN>'", "Which of", TYPED, needs=("perl",)),
]

ASKING = [*SHELL, *PYTHON, *NODE, *GIT, *FULL_SCREEN, *SYSTEM]
