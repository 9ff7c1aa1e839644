"""Prompts that a ground allows, of agents, shells, languages, libraries and programs; each checks what it got."""

# ruff: noqa: E501  (commands of shells read better in one line)

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Iterator, Mapping, Sequence

from attrs import field, frozen

from soak.forged import COMPACT, EFFORT, TRUST
from soak.hostile_scenes.scene import ANY_KEY, BUILD, DEPLOY, ENTER, LOOSE, YES_NO, last_words, program
from soak.hostile_scenes.staged import BUTLER
from stallkit.packs.screenfile import read_screen

CACHE = Path(__file__).resolve().parents[2] / ".cache"
RULES = """format = 1
name = "rules"
profile = "careful"
trust = ["{folder}"]
[[rule]]
do = "press"
signature = ["shell_tools:press_any_key*", "shell_tools:press_enter*", "shell_tools:dialog_message"]
session = "tmux:build-*"
[[rule]]
do = "press"
signature = ["shell_yn:yes_no", "shell_yn:yes_or_default", "shell_yn:*_question", "node_prompts:confirm*"]
session = "tmux:deploy-1"
[[rule]]
do = "press"
option = "Yes, I trust this folder"
agent = "claude"
"""
POLICIES: Mapping[str, str] = {"rules": RULES, "butler": BUTLER}  # beside careful and daemon
OWN = sys.executable  # whose environment has click and rich


@frozen
class Prompt:
    """One prompt; `script` is bash, whose status is 0 if its program got the answer, and nothing else."""

    name: str
    script: str
    shows: str
    policy: str = "rules"
    session: str = DEPLOY
    needs: tuple[str, ...] = ()  # programs
    files: Mapping[str, str] = field(factory=dict)


def prompts(*, everything: bool = False) -> Sequence[Prompt]:
    """Those whose programs are here, or all of them; of every kind as early as of another."""
    kinds = [list(kind()) for kind in (_agents, _programs, _shells, _libraries, _forms)]
    found: list[Prompt] = []
    for place in range(max(map(len, kinds))):
        found += [kind[place] for kind in kinds if place < len(kind)]
    return [one for one in found if everything or all(map(shutil.which, one.needs))]


def _acts(by: str, name: str, text: str, expects: str, takes: str = "line", policy: str = "", **more: object) -> Prompt:
    mode = "line" if takes == "line" else "raw"
    step = {"text": text, "mode": mode, "takes": takes, "expects": expects, "below": takes != "menu", **more}
    files = {"play.json": json.dumps([step])}
    policy = policy or ("butler" if by == "butler" else "daemon")
    shows = last_words(text.replace("{rows}", str(more.get("rows", [""])[-1])))  # type: ignore[index]
    return Prompt(f"{by}: {name}", program(by), shows, policy, LOOSE, files=files)


SCREENS = Path(__file__).resolve().parents[2] / "plugins/claude_code/src/stallkit_claude_code/screens"
NOTES = "https://aider.chat/HISTORY.html#release-notes\nWould you like to see what's new in this version? (Y)es/(N)o [Yes]: "
IGNORE = "You can skip this check with --no-gitignore\nAdd .aider* to .gitignore (recommended)? (Y)es/(N)o [Yes]: "
TRUSTED = f" Accessing workspace:\n\n {{here}}\n\n{TRUST}{{rows}}\n\n Enter to confirm · Esc to cancel"


def _agents() -> Iterator[Prompt]:
    """What agents ask: their packs' own dialogs, what the profile says yes to, and an option that a rule names."""
    for by in ("claude", "butler"):
        yield _acts(by, "yes or no, a line", YES_NO, "y\n")
        yield _acts(by, "yes or no, one key", YES_NO, "y", "key")
        yield _acts(by, "yes or no, a line of its own", "Install the dependencies? [Y/n] ", "y\r", "edit")
        yield _acts(by, "a default", "Ok to proceed? (y) ", "y\n")
        yield _acts(by, "a default in a word", "Is this OK? (yes) ", "yes\n")
        yield _acts(by, "any key", ANY_KEY, " ", "key")
        yield _acts(by, "Enter", ENTER, "\n")
        yield _acts(by, "continue", "Continue? ", "continue\n")
        yield _acts(by, "proceed", "Do you want to proceed? ", "yes\n")
    yield _acts("butler", "German", "Fortfahren? [j/N] ", "j\n")
    theme = read_screen(sorted((SCREENS / "theme_first_run").glob("hit-*.txt"))[0]).screen.text
    for name, text in (("compact mode", COMPACT), ("effort", EFFORT), ("theme", theme)):
        yield _acts("claude", name, f"\033[?25l\n{text}", "\r", "key", policy="careful")
    rows = ["No, exit", "Yes, I trust this folder"]
    for name, at in (("trust, on No", 0), ("trust, on Yes", 1)):
        more = {"rows": rows, "at": at}
        yield _acts("claude", name, f"\033[?25l{TRUSTED}", rows[1], "menu", policy="rules", **more)
    for name, text in (("release notes", NOTES), ("gitignore", IGNORE)):
        one = _acts("butler", name, text, "n\n", policy="careful")
        script = 'cp "$BIN/butler" aider; ./aider play.json'
        yield Prompt(f"aider: {name}", script, one.shows, "careful", LOOSE, files=one.files)


# A private root for apt: its own state, a repository of two packages, nothing is installed.
APT = """
for name in tool dependency; do
    mkdir -p $name/DEBIAN
    needs=; [ $name = dependency ] || needs='Depends: dependency'
    printf 'Package: %s\\nVersion: 1\\nArchitecture: all\\nMaintainer: x <x@example.org>\\n' $name > $name/DEBIAN/control
    [ -z "$needs" ] || echo "$needs" >> $name/DEBIAN/control
    echo 'Description: x' >> $name/DEBIAN/control
    mkdir -p repo; dpkg-deb -b $name repo/$name.deb > /dev/null
    cat $name/DEBIAN/control >> repo/Packages
    printf 'Filename: ./%s.deb\\nSize: %s\\nSHA256: %s\\n\\n' $name $(stat -c %s repo/$name.deb) \\
        $(sha256sum repo/$name.deb | cut -d' ' -f1) >> repo/Packages
done
mkdir -p state/lists/partial cache/archives/partial; touch status-file
echo "deb [trusted=yes] file:$PWD/repo ./" > sources
root="-o Dir::State=$PWD/state -o Dir::State::status=$PWD/status-file -o Dir::Cache=$PWD/cache -o Debug::NoLocking=1"
root="$root -o Dir::Etc::sourcelist=$PWD/sources -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=root"
root="$root -o Debug::pkgDPkgPM=1 -o Dpkg::Use-Pty=0 -o APT::Architecture=amd64 -o Dir::Log=$PWD"
apt-get $root -qq update > /dev/null 2>&1
"""
WHEEL = """
site=$PWD/base/lib/python$($PY -c 'import sys; print("%d.%d" % sys.version_info[:2])')/site-packages
mkdir -p $site/tool-1.0.dist-info; touch $site/tool.py
printf 'Metadata-Version: 2.1\\nName: tool\\nVersion: 1.0\\n' > $site/tool-1.0.dist-info/METADATA
printf 'tool.py,,\\ntool-1.0.dist-info/METADATA,,\\ntool-1.0.dist-info/RECORD,,\\n' > $site/tool-1.0.dist-info/RECORD
"""
GIT = "git init -q .; git config user.name x; git config user.email x@example.org; echo a > a; git add a; git commit -qm a;"


INSTALL = f"{APT}{{apt}} $root install tool && ls cache/archives/*.deb | cat; test -e state"
UNINSTALL = f"{WHEEL}PYTHONUSERBASE=$PWD/base $PY -m pip uninstall tool; test ! -e $site/tool.py"
INIT = {"init.js": "module.exports = {name: 'tool', version: '1.0.0'}", ".npmrc": "init-module=${HOME}/init.js\n"}
TOOL = {
    "tool/package.json": '{"name": "tool", "version": "1.0.0", "bin": "x.js"}',
    "tool/x.js": "#!/usr/bin/env node\n",
}
NPX = "mkdir a; cd a; tar czf ../t.tgz -C .. --transform s/^tool/package/ tool; npx --offline ../t.tgz; went=$?; cd ..; test $went = 0"
DIFFTOOL = f"{GIT} echo b > a; git -c difftool.x.cmd='touch went' difftool -t x; test -e went"
BISECT = f"{GIT} git bisect good; git bisect log | grep -q good"
MKFS = "truncate -s 4M disk; mkfs.ext4 -q disk; mkfs.ext4 disk"
SPHINX = f"{OWN} -m sphinx.cmd.quickstart -p x -a y -v 1 -r 1 -l en; test -e source/conf.py"
DENO = str(Path(OWN).with_name("deno"))
CONFIRM = f"{DENO} eval 'if (!confirm(\"Proceed?\")) Deno.exit(1)'"
RELAYED = f'script -qec "bash -c \'read -rsn1 -p \\"{ANY_KEY}\\" x; [ -z \\$x ]\'" /dev/null'


def _programs() -> Iterator[Prompt]:
    for apt in ("apt-get", "apt"):
        yield Prompt(f"{apt} install", INSTALL.replace("{apt}", apt), "[Y/n]", needs=(apt, "dpkg-deb"))
    yield Prompt("pip uninstall", UNINSTALL, "Proceed (Y/n)?")
    init = "npm init --no-update-notifier; test -e package.json"
    yield Prompt("npm init", init, "Is this OK?", needs=("npm",), files=INIT)
    yield Prompt("npx", NPX, "Ok to proceed?", needs=("npx",), files=TOOL)
    yield Prompt("git difftool", DIFFTOOL, "Launch 'x'", needs=("git",))
    yield Prompt("git bisect", BISECT, "Do you want me to do it", needs=("git",))
    yield Prompt("mkfs.ext4", MKFS, "Proceed anyway?", needs=("mkfs.ext4",))
    yield Prompt("sphinx-quickstart", SPHINX, "(y/n) [n]:")
    yield Prompt("deno, confirm", CONFIRM, "Proceed?", needs=(DENO,))
    for box in ("dialog", "whiptail"):
        run = f"{box} --msgbox 'Installation finished.' 8 40"
        yield Prompt(f"{box}, a message", run, "finished", session=BUILD, needs=(box,))
    yield Prompt("script, around a pause", RELAYED, "Press any", session=BUILD, needs=("script",))


def _shells() -> Iterator[Prompt]:
    """Scripts of shells and languages, each with its own way to read."""
    ask, key, enter = shlex.quote(YES_NO), shlex.quote(ANY_KEY), shlex.quote(ENTER)
    yield Prompt("bash, a line", f'bash -c "read -rp {ask} x; [ \\$x = y ]"', "Proceed?")
    yield Prompt("bash, one key", f'bash -c "read -rn1 -p {ask} x; [ \\$x = y ]"', "Proceed?")
    yield Prompt("bash, an unseen key", f'bash -c "read -rsn1 -p {key} x"', "Press any", session=BUILD)
    yield Prompt("bash, a key below text", f'seq 5; bash -c "read -rn1 -p {key} x"', "Press any", session=BUILD)
    yield Prompt("bash, Enter", f'bash -c "read -rp {enter} x; [ -z \\$x ]"', "Press ENTER", session=BUILD)
    delete = "bash -c \"read -rp 'Delete the old volumes? [y/N] ' x; [ \\$x = y ]\""
    yield Prompt("bash, a deletion that a rule allows", delete, "Delete")
    yield Prompt("dash", f'dash -c "printf %s {ask}; read x; [ \\$x = y ]"', "Proceed?", needs=("dash",))
    yield Prompt("zsh, yes or no", f"zsh -fc \"read -q '?{YES_NO}'\"", "Proceed?", needs=("zsh",))
    yield Prompt("zsh, a key", f"zsh -fc \"read -sk1 '?{ANY_KEY}'\"", "Press any", session=BUILD, needs=("zsh",))
    yield Prompt("zsh, a line", f"zsh -fc \"read 'x?{YES_NO}'; [[ \\$x = y ]]\"", "Proceed?", needs=("zsh",))
    yield Prompt("perl", f"perl -e '$| = 1; print q({YES_NO}); exit(<STDIN> ne qq(y\\n))'", "Proceed?", needs=("perl",))
    yield Prompt("python, input", f'$PY -c \'import sys; sys.exit(input("{YES_NO}") != "y")\'', "Proceed?")
    asks = f'$PY -c \'import sys; sys.exit(input("{ENTER}") != "")\''
    yield Prompt("python, Enter", asks, "Press ENTER", session=BUILD)
    cbreak = f'import sys, tty; tty.setcbreak(0); print(end="{ANY_KEY}", flush=True); sys.stdin.read(1)'
    yield Prompt("python, a key", f"$PY -c '{cbreak}'; stty sane", "Press any", session=BUILD)


def _node(code: str) -> str:
    load = "const from = require('node:module').createRequire(process.argv[1]);"
    return f"node -e {shlex.quote(load + code)} {CACHE / 'npm' / 'package.json'}"


def _libraries() -> Iterator[Prompt]:
    one = "{type: 'confirm', name: 'x', message: 'Install the dependencies?'}"
    ends = ".then((it) => process.exit(it === true || it.x === true ? 0 : 1))"
    yield Prompt("click, confirm", f"{OWN} -c 'import click; click.confirm(\"Go on\", abort=True)'", "Go on")
    yield Prompt("click, pause", f"{OWN} -c 'import click; click.pause()'", "Press any key", session=BUILD)
    asks = 'import sys; from rich.prompt import Confirm; sys.exit(not Confirm.ask("Go on?"))'
    yield Prompt("rich", f"{OWN} -c '{asks}'", "Go on?")
    path = f"PYTHONPATH={CACHE / 'programs'}"
    asks = 'import sys; from prompt_toolkit.shortcuts import confirm; sys.exit(not confirm("Go on?"))'
    yield Prompt("prompt_toolkit", f"{path} {OWN} -c '{asks}'", "Go on?")
    asks = 'import sys, questionary; sys.exit(not questionary.confirm("Go on?").ask())'
    yield Prompt("questionary", f"{path} {OWN} -c '{asks}'", "Go on?")
    asks = "import questionary; questionary.press_any_key_to_continue().ask()"
    yield Prompt("questionary, a key", f"{path} {OWN} -c '{asks}'", "Press any", session=BUILD)
    line = "require('readline').createInterface({input: process.stdin, output: process.stdout})"
    asks = f"{line}.question('{YES_NO}', (it) => process.exit(it === 'y' ? 0 : 1))"
    yield Prompt("node, readline", f"node -e {shlex.quote(asks)}", "Proceed?", needs=("node",))
    asks = f"process.stdin.setRawMode(true); process.stdout.write('{ANY_KEY}'); process.stdin.once('data', () => process.exit(0))"
    yield Prompt("node, a key", f"node -e {shlex.quote(asks)}", "Press any", session=BUILD, needs=("node",))
    yield Prompt("prompts", _node(f"from('prompts')({one}){ends}"), "dependencies?", needs=("node",))
    yield Prompt("inquirer", _node(f"from('inquirer').prompt([{one}]){ends}"), "dependencies?", needs=("node",))
    asks = f"from('@inquirer/prompts').confirm({one}){ends}"
    yield Prompt("@inquirer/prompts", _node(asks), "dependencies?", needs=("node",))


FORMS = {  # of programs that are not here, asked by a script of Python
    "conda": ("Proceed ([y]/n)? ", "y"),
    "dnf": ("Is this ok [y/N]: ", "y"),
    "yum": ("Is this ok [y/d/N]: ", "y"),
    "pacman": (":: Proceed with installation? [Y/n] ", "y"),
    "flatpak": ("Proceed with these changes to the system installation? [Y/n]: ", "y"),
    "gcloud": ("Do you want to continue (Y/n)?  ", "y"),
    "apt in German": ("Möchten Sie fortfahren? [J/n] ", "j"),
    "apt in French": ("Souhaitez-vous continuer ? [O/n] ", "o"),
    "fdisk": ("Do you want to remove the signature? [Y]es/[N]o: ", "y"),
    "a script with words": ("Deploy the new version? (yes/no) ", "yes"),
}


def _forms() -> Iterator[Prompt]:
    for name, (text, yes) in FORMS.items():
        script = f"$PY ask.py {shlex.quote(text)} {yes}"
        code = "import sys\nsys.exit(input(sys.argv[1]).casefold() != sys.argv[2])\n"
        yield Prompt(f"as {name} asks", script, last_words(text), files={"ask.py": code})


PATCH = "echo a > f; printf -- '--- f\\n+++ f\\n@@ -1 +1 @@\\n-b\\n+a\\n' > p; "


def persons() -> Sequence[Prompt]:
    """Prompts beside them, in sessions that the rules name, which no ground allows."""
    secret, pause = "bash -c \"read -rsp 'Password: ' x\"", f"bash -c \"read -rsn1 -p '{ANY_KEY}' x\""
    return [
        Prompt("rm -i", "touch a; rm -i a; test ! -e a", "remove"),
        Prompt("ssh-keygen, over an older key", "echo > k; ssh-keygen -q -t ed25519 -N '' -f k", "Overwrite (y/n)?"),
        Prompt("patch, whose default alone is shown", f"{PATCH}patch f p; grep -q b f", "Assume -R?"),
        Prompt("a password", secret, "Password", session=BUILD),
        Prompt("a secret that any key would end", f"bash -c \"read -rsp '{ENTER}' x\"", "Press", session=BUILD),
        Prompt("a word to type", "bash -c \"read -rp 'Type the name to delete it: ' x\"", "Type"),
        Prompt("a key that reboots", "bash -c \"read -rsn1 -p 'Press any key to reboot' x\"", "reboot", session=BUILD),
        Prompt("yes or no, in a session of no rule", f"bash -c \"read -rp '{YES_NO}' x\"", "Proceed?", session=LOOSE),
        Prompt("any key, of a program that no rule names", pause, "Press", "daemon"),
        Prompt("a question of a script, under daemon", f"$PY -c 'input(\"{YES_NO}\")'", "Proceed?", "daemon", LOOSE),
        Prompt("a plain pause, under careful", pause, "Press", "careful", LOOSE),
    ]
