"""What asks or shows its work through a library of Python or Node, and what makes a project of answers."""

# ruff: noqa: E501 - a scene reads best as one line

from __future__ import annotations

import shlex
from typing import Any

from attrs import evolve

from corpora.shell_prompts.scenes.classic.made import typed
from corpora.shell_prompts.scenes.fresh.sizes import placed
from corpora.shell_prompts.stage import Scene

MODULES = "$(dirname $(dirname $(command -v plop)))"  # the folder that npm wrote
ITEMS = "['warp', 'weft', 'selvage']"
TEMPLATE = 'mkdir -p t/\'{{cookiecutter.name}}\'; echo \'{"name": "loom", "licence": ["MIT", "BSD"], "publish": false}\' >t/cookiecutter.json; touch t/\'{{cookiecutter.name}}\'/a'
COPIER = "mkdir t; printf 'name:\\n  type: str\\n  help: What is the name of the loom?\\nwarp:\\n  type: str\\n  choices: [wool, linen]\\n  help: Which warp?\\nsure:\\n  type: bool\\n  help: Weave at once?\\n' >t/copier.yml"
PLOP = 'printf \'module.exports = p => { const one = { description: "a loom", prompts: [{ type: "input", name: "name", message: "Name of the loom" }], actions: [] }; p.setGenerator("loom", one); p.setGenerator("shuttle", one); };\' >plopfile.cjs'
CHANGESET = 'git init -q; mkdir -p .changeset packages/warp packages/weft; echo \'{"baseBranch": "main", "changelog": false, "access": "public"}\' >.changeset/config.json; echo \'{"name": "loom", "private": true, "workspaces": ["packages/*"]}\' >package.json; echo \'{"name": "warp", "version": "1.0.0"}\' >packages/warp/package.json; echo \'{"name": "weft", "version": "1.0.0"}\' >packages/weft/package.json; touch package-lock.json; git checkout -qb main; git add .; git -c user.name=ada -c user.email=ada@box commit -qm one'
AVA = '; echo \'{"type": "module"}\' >package.json; printf \'import test from "ava";\\ntest("warp", t => t.pass());\\ntest("weft", async t => { await new Promise(r => setTimeout(r, 9000)); t.pass(); });\\n\' >test.js'


def python(
    id: str, package: str, program: str, code: str, kind: str | None, until: str, *steps: tuple[str, str], **more: Any
) -> Scene:
    """A script that uses this library."""
    before = f"printf %s {shlex.quote(code)} >ask.py"
    version = f"python -m pip show {package} | grep ^Version"
    return Scene(
        id, program, "python ask.py", kind=kind, before=before, until=until, steps=steps, version=version, **more
    )


def node(
    id: str, package: str, program: str, code: str, kind: str | None, until: str, *steps: tuple[str, str], **more: Any
) -> Scene:
    """The same of Node."""
    before = f"ln -s {MODULES} node_modules; printf %s {shlex.quote(code)} >ask.mjs"
    version = f"grep '\"version\"' {MODULES}/{package}/package.json"
    return Scene(
        id, program, "node ask.mjs", kind=kind, before=before, until=until, steps=steps, version=version, **more
    )


def tool(scene: Scene, package: str, npm: bool = False) -> Scene:
    """A command that pip or npm installed."""
    told = (
        f"grep '\"version\"' {MODULES}/{package}/package.json"
        if npm
        else f"python -m pip show {package} | grep ^Version"
    )
    return evolve(scene, version=told)


DIALOGS = "from prompt_toolkit.shortcuts import *\n"

LIBRARIES = placed([
    python("ptk-yes-no", "prompt_toolkit", "prompt-toolkit", DIALOGS + "print(yes_no_dialog(title='Loom', text='Cut the warp?').run())\n", "confirm", r"< +Yes"),
    python("ptk-radio", "prompt_toolkit", "prompt-toolkit", DIALOGS + f"print(radiolist_dialog(title='Loom', text='Which part?', values=[(x, x) for x in {ITEMS}]).run())\n", "select", r"weft"),
    python("ptk-input", "prompt_toolkit", "prompt-toolkit", DIALOGS + "print(input_dialog(title='Loom', text='Name of the pattern:').run())\n", "text", r"pattern"),
    python("ptk-progress", "prompt_toolkit", "prompt-toolkit", "import time\nfrom prompt_toolkit.shortcuts import ProgressBar\nwith ProgressBar(title='Weaving') as bar:\n    for _ in bar(range(900)):\n        time.sleep(0.1)\n", None, r"%", state="working", rests=False),
    python("urwid", "urwid", "urwid", "import urwid\nitems = [urwid.AttrMap(urwid.Button(x), None, 'reversed') for x in ('Warp', 'Weft', 'Quit')]\nurwid.MainLoop(urwid.ListBox(urwid.SimpleFocusListWalker([urwid.Text('Which part of the loom?'), *items]))).run()\n", "select", r"Weft"),
    python("urwid-edit", "urwid", "urwid", "import urwid\nurwid.MainLoop(urwid.Filler(urwid.Edit('Name of the loom: '))).run()\n", "text", r"loom:"),
    python("npyscreen", "npyscreen", "npyscreen", f"import npyscreen\ndef main(*_):\n    form = npyscreen.Form(name='A new loom')\n    form.add(npyscreen.TitleText, name='Name:')\n    form.add(npyscreen.TitleSelectOne, max_height=4, name='Part:', values={ITEMS})\n    form.edit()\nnpyscreen.wrapper_basic(main)\n", "text", r"Name:"),
    python("npyscreen-ok", "npyscreen", "npyscreen", "import npyscreen\nnpyscreen.wrapper_basic(lambda *_: npyscreen.notify_yes_no('Cut the warp?', title='Loom'))\n", "confirm", r"(?i)yes"),
    python("blessed", "blessed", "blessed", "import blessed\nt = blessed.Terminal()\nwith t.cbreak():\n    print(t.bold('The loom is set up.'), 'Hit any key to weave ...', end='', flush=True)\n    t.inkey()\n", "press_key", r"weave \.\.\."),
    python("cutie", "cutie", "cutie", f"import cutie\nprint('Which part?')\nprint(cutie.select({ITEMS}))\n", "select", r"selvage"),
    python("cutie-yes-no", "cutie", "cutie", "import cutie\nprint(cutie.prompt_yes_or_no('Cut the warp?'))\n", "confirm", r"No"),
    python("cutie-secret", "cutie", "cutie", "import cutie\nprint(len(cutie.secure_input('Token of the registry:')))\n", "secret", r"registry:"),
    python("survey-select", "survey", "survey", f"import survey\nprint(survey.routines.select('Which part? ', options={ITEMS}))\n", "select", r"selvage"),
    python("survey-inquire", "survey", "survey", "import survey\nprint(survey.routines.inquire('Cut the warp? ', default=False))\n", "confirm", r"warp\?"),
    python("survey-input", "survey", "survey", "import survey\nprint(survey.routines.input('Name of the loom: '))\n", "text", r"loom:"),
    python("noneprompt", "noneprompt", "noneprompt", f"from noneprompt import ListPrompt, Choice\nListPrompt('Which part?', [Choice(x) for x in {ITEMS}]).prompt()\n", "select", r"selvage"),
    python("noneprompt-confirm", "noneprompt", "noneprompt", "from noneprompt import ConfirmPrompt\nConfirmPrompt('Cut the warp?', default_choice=False).prompt()\n", "confirm", r"warp\?"),
    python("plumbum-choose", "plumbum", "plumbum", f"from plumbum.cli.terminal import choose\nprint(choose('Which part?', {ITEMS}, default='weft'))\n", "select", r"Choice[^\n]*: *$"),
    python("plumbum-ask", "plumbum", "plumbum", "from plumbum.cli.terminal import ask\nprint(ask('Cut the warp', default=False))\n", "confirm", r"\[y/N\] *$"),
    python("console-menu", "console-menu", "console-menu", "from consolemenu import ConsoleMenu\nfrom consolemenu.items import FunctionItem\nm = ConsoleMenu('Loom', 'Which part?')\n[m.append_item(FunctionItem(x, print)) for x in ('Warp', 'Weft')]\nm.show()\n", "select", r">> *$"),
    python("curses-menu", "curses-menu", "curses-menu", "from cursesmenu import CursesMenu\nfrom cursesmenu.items import MenuItem\nm = CursesMenu('Loom', 'Which part?')\nm.items += [MenuItem(x) for x in ('Warp', 'Weft')]\nm.show()\n", "select", r"Weft"),
    python("pwinput", "pwinput", "pwinput", "import pwinput\nprint(len(pwinput.pwinput('PIN of the loom: ')))\n", "secret", r"loom: \*\*$", (r"loom: *$", "4 2")),
    python("click-shell", "click-shell", "click-shell", "import click\nfrom click_shell import shell\n@shell(prompt='loom > ', intro='The loom is set up.')\ndef app():\n    pass\n@app.command()\ndef weave():\n    import time\n    time.sleep(60)\napp()\n", "repl_prompt", r"loom > *$"),
    python("click-shell-busy", "click-shell", "click-shell", "import click\nfrom click_shell import shell\n@shell(prompt='loom > ', intro='The loom is set up.')\ndef app():\n    pass\n@app.command()\ndef weave():\n    import time\n    time.sleep(60)\napp()\n", None, r"weave *$", (r"loom > *$", "weave Enter"), state="working"),
    python("click-repl", "click-repl", "click-repl", "import click\nfrom click_repl import register_repl\n@click.group()\ndef app():\n    pass\nregister_repl(app)\napp(['repl'])\n", "repl_prompt", r"^> *$"),
    python("asciimatics", "asciimatics", "asciimatics", "from asciimatics.screen import Screen\nfrom asciimatics.scene import Scene\nfrom asciimatics.effects import Stars\nScreen.wrapper(lambda s: s.play([Scene([Stars(s, 60)], -1)]))\n", None, r"\A(?!dev@box)[\s\S]*\S", state="working", rests=False, note="an animation"),
    python("tqdm", "tqdm", "tqdm", "import time\nfrom tqdm import tqdm\nfor _ in tqdm(range(900), desc='Weaving'):\n    time.sleep(0.1)\n", None, r"%", state="working", rests=False),
    python("tqdm-done", "tqdm", "tqdm", "import time\nfrom tqdm import tqdm\nfor _ in tqdm(range(9), desc='Weaving'):\n    time.sleep(0.1)\n", None, r"100%[\s\S]*\$ *$", state="ended"),
    python("alive-progress", "alive-progress", "alive-progress", "import time\nfrom alive_progress import alive_bar\nwith alive_bar(900, title='Weaving') as bar:\n    for _ in range(900):\n        time.sleep(0.1)\n        bar()\n", None, r"\d/900", state="working", rests=False),
    python("yaspin", "yaspin", "yaspin", "import time\nfrom yaspin import yaspin\nwith yaspin(text='Weaving the warp'):\n    time.sleep(60)\n", None, r"warp", state="working", rests=False),
    python("halo", "halo", "halo", "import time\nfrom halo import Halo\nwith Halo(text='Weaving the warp'):\n    time.sleep(60)\n", None, r"warp", state="working", rests=False),
    python("enlighten", "enlighten", "enlighten", "import time, enlighten\nbar = enlighten.Counter(total=900, desc='Weaving')\nfor _ in range(900):\n    time.sleep(0.1)\n    bar.update()\n", None, r"%", state="working", rests=False),
    python("progressbar2", "progressbar2", "progressbar2", "import time, progressbar\nfor _ in progressbar.progressbar(range(900)):\n    time.sleep(0.1)\n", None, r"%", state="working", rests=False),
    tool(Scene("litecli", "litecli", "litecli a.db", kind="repl_prompt", until=r"a\.db[^\n]*> *$"), "litecli"),
    tool(Scene("litecli-left", "litecli", "litecli a.db", state="ended", steps=((r"a\.db[^\n]*> *$", typed("quit")),), until=r"Goodbye[\s\S]*\$ *$"), "litecli"),
    tool(Scene("hy", "hy", "hy", kind="repl_prompt", until=r"^=> *$"), "hy"),
    tool(Scene("hy-busy", "hy", "hy", state="working", steps=((r"^=> *$", typed("(while True)")),), until=r"True\) *$"), "hy"),
    tool(Scene("hy-more", "hy", "hy", kind="repl_prompt", steps=((r"^=> *$", typed("(defn weave []")),), until=r"^\.\.\. *$"), "hy"),
    tool(Scene("cookiecutter", "cookiecutter", "cookiecutter t", kind="text", before=TEMPLATE, until=r"\(loom\): *$"), "cookiecutter"),
    tool(Scene("cookiecutter-choose", "cookiecutter", "cookiecutter t", kind="select", before=TEMPLATE, steps=((r"\(loom\): *$", "Enter"),), until=r"\(1\): *$"), "cookiecutter"),
    tool(Scene("cookiecutter-publish", "cookiecutter", "cookiecutter t", kind="confirm", before=TEMPLATE, steps=((r"\(loom\): *$", "Enter"), (r"\(1\): *$", "Enter")), until=r"\(n\): *$"), "cookiecutter"),
    tool(Scene("copier", "copier", "copier copy t d", kind="text", before=COPIER, until=r"loom\?"), "copier"),
    tool(Scene("copier-choose", "copier", "copier copy t d", kind="select", before=COPIER, steps=((r"loom\?", "l Enter"),), until=r"linen"), "copier"),
    tool(Scene("copier-sure", "copier", "copier copy t d", kind="confirm", before=COPIER, steps=((r"loom\?", "l Enter"), (r"linen", "Enter")), until=r"once\?"), "copier"),
    tool(Scene("flit", "flit", "flit init", kind="text", until=r"(?i)name[^\n]*: *$"), "flit"),
    tool(Scene("flit-licence", "flit", "flit init", kind="select", steps=((r"(?i)name[^\n]*: *$", typed("loom")), (r"(?i)author[^\n]*: *$", typed("Ada")), (r"(?i)email[^\n]*: *$", typed("ada@box")), (r"(?i)page[^\n]*: *$", typed("https://box/"))), until=r"(?i)license[\s\S]*[\]:] *$"), "flit"),
    tool(Scene("briefcase", "briefcase", "briefcase new", kind="select", until=r"Framework \[1\]: *$"), "briefcase"),
    tool(Scene("pip-uninstall", "pip (uninstall)", "v/bin/pip uninstall setuptools", kind="confirm", before="python -m venv v", until=r"\(Y/n\)\? *$"), "pip"),
    tool(Scene("coffee", "coffee", "coffee", kind="repl_prompt", until=r"coffee> *$"), "coffeescript", npm=True),
    tool(Scene("coffee-busy", "coffee", "coffee", state="working", steps=((r"coffee> *$", typed("1 while true")),), until=r"while true *$"), "coffeescript", npm=True),
    tool(Scene("coffee-left", "coffee", "coffee", state="ended", steps=((r"coffee> *$", "C-d"),), until=r"\$ *$"), "coffeescript", npm=True),
    tool(Scene("lsc", "lsc", "lsc", kind="repl_prompt", until=r"ls> *$"), "livescript", npm=True),
    node("vorpal", "vorpal", "vorpal", "import V from 'vorpal';\nconst v = V();\nv.command('weave').action((a, done) => setTimeout(done, 60000));\nv.delimiter('loom$').show();\n", "repl_prompt", r"loom\$ *$"),
    node("vorpal-busy", "vorpal", "vorpal", "import V from 'vorpal';\nconst v = V();\nv.command('weave').action((a, done) => setTimeout(done, 60000));\nv.delimiter('loom$').show();\n", None, r"weave *$", (r"loom\$ *$", "weave Enter"), state="working", hard=True),
    tool(Scene("create-vite", "create-vite", "create-vite", kind="text", until=r"(?i)project name"), "create-vite", npm=True),
    tool(Scene("create-vite-framework", "create-vite", "create-vite", kind="select", steps=((r"(?i)project name", "l o o m Enter"),), until=r"(?i)svelte"), "create-vite", npm=True),
    tool(Scene("create-vue", "create-vue", "create-vue", kind="text", until=r"(?i)project name"), "create-vue", npm=True),
    tool(Scene("create-vue-typescript", "create-vue", "create-vue", kind="confirm", steps=((r"(?i)project name", "Enter"),), until=r"(?i)typescript"), "create-vue", npm=True),
    tool(Scene("plop", "plop", "plop --plopfile plopfile.cjs", kind="select", before=PLOP, until=r"shuttle"), "plop", npm=True),
    tool(Scene("plop-name", "plop", "plop --plopfile plopfile.cjs loom", kind="text", before=PLOP, until=r"Name of the loom"), "plop", npm=True),
    tool(Scene("changeset", "changeset", "changeset", kind="select", before=CHANGESET, until=r"(?i)which packages"), "@changesets/cli", npm=True),
    tool(Scene("rimraf", "rimraf", "rimraf -i a.txt b.txt", kind="confirm", before="touch a.txt b.txt", until=r"(?i)(all|quit)[^\n]*\s*$|\? *$"), "rimraf", npm=True),
    node("cli-select", "cli-select", "cli-select", f"import s from 'cli-select';\nconsole.log('Which part?');\ns({{ values: {ITEMS} }}).catch(() => 0);\n", "select", r"selvage"),
    node("prompt-sync", "prompt-sync", "prompt-sync", "import p from 'prompt-sync';\nconsole.log(p()('Name of the loom: '));\n", "text", r"loom: *$"),
    node("prompt-sync-hidden", "prompt-sync", "prompt-sync", "import p from 'prompt-sync';\nconsole.log(p()('API key: ', { echo: '*' }).length);\n", "secret", r"key: \*\*\*$", (r"key: *$", "a b c")),
    node("prompt-confirm", "prompt-confirm", "prompt-confirm", "import P from 'prompt-confirm';\nnew P('Cut the warp?').run();\n", "confirm", r"warp\?"),
    node("password-prompt", "password-prompt", "password-prompt", "import p from 'password-prompt';\nconsole.log((await p('Password of the loom: ')).length);\n", "secret", r"loom: *$"),
    node("zx", "zx", "zx", "import { question } from 'zx';\nconst b = await question('Which branch? ', { choices: ['main', 'loom'] });\nconsole.log(b);\n", "text", r"branch\? *$"),
    node("listr", "listr", "listr", "import L from 'listr';\nnew L([{ title: 'Warp', task: () => 1 }, { title: 'Weft', task: () => new Promise(r => setTimeout(r, 60000)) }]).run();\n", None, r"Weft", state="working", rests=False),
    node("listr-done", "listr", "listr", "import L from 'listr';\nnew L([{ title: 'Warp', task: () => 1 }, { title: 'Weft', task: () => 1 }]).run();\n", None, r"Weft[\s\S]*\$ *$", state="ended"),
    node("node-progress", "progress", "progress (npm)", "import P from 'progress';\nconst b = new P('weaving [:bar] :percent :etas', { total: 900, width: 30 });\nsetInterval(() => b.tick(), 100);\n", None, r"%", state="working", rests=False),
    node("nanospinner", "nanospinner", "nanospinner", "import { createSpinner } from 'nanospinner';\ncreateSpinner('Weaving the warp').start();\nsetTimeout(() => 0, 60000);\n", None, r"warp", state="working", rests=False),
    node("gauge", "gauge", "gauge", "import G from 'gauge';\nconst g = new G();\nlet n = 0;\nsetInterval(() => { g.show('weaving', (n += 0.001)); g.pulse('warp'); }, 100);\n", None, r"weaving", state="working", rests=False),
    tool(Scene("serve", "serve", "serve -n -l tcp://127.0.0.1:18201", state="working", until=r"(?i)accepting|serving"), "serve", npm=True),
    tool(Scene("json-server", "json-server", "json-server --port 18202 --host 127.0.0.1 a.json", state="working", before="echo '{\"loom\": []}' >a.json", until=r"(?i)18202[\s\S]*loom"), "json-server", npm=True),
    tool(Scene("ava", "ava", "ava", state="working", before=f"ln -s {MODULES} node_modules" + AVA, until=r"(?i)warp|test"), "ava", npm=True),
    tool(Scene("rollup", "rollup", "rollup -w -i a.js -f es -d out", state="working", before="echo 'export default 1' >a.js", until=r"(?i)waiting for changes"), "rollup", npm=True),
    tool(Scene("concurrently", "concurrently", "concurrently 'echo Weave it? [y/N]; sleep 60' 'sleep 60'", state="working", until=r"\[0\] Weave", hard=True, note="what another asks is only printed"), "concurrently", npm=True),
    tool(Scene("esbuild", "esbuild", "esbuild a.js --bundle --outdir=out --watch=forever", state="working", before="echo 'export default 1' >a.js", until=r"(?i)watch"), "esbuild", npm=True),
])  # fmt: skip
