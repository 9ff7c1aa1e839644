"""python ask.py LIBRARY KIND [AFTER]: one prompt of the Python libraries that look like those of Node."""

import os
import sys
import time
from pathlib import Path

library, kind, after = (*sys.argv[1:], "quiet")[:3]
OPTIONS = ["minimal", "library", "command line", "web service"]


def of_questionary():
    import questionary as ask

    return {
        "text": lambda: ask.text("Name of the project").ask(),
        "proposal": lambda: ask.text("Name of the project", default="my-app").ask(),
        "secret": lambda: ask.password("API token").ask(),
        "confirm": lambda: ask.confirm("Delete the old build?", default=False).ask(),
        "select": lambda: ask.select("Which template?", OPTIONS).ask(),
        "rawselect": lambda: ask.rawselect("Which template?", OPTIONS).ask(),
        "multi": lambda: ask.checkbox("Which parts do you need?", OPTIONS).ask(),
    }


def of_inquirerpy():
    from InquirerPy import inquirer as ask

    return {
        "text": lambda: ask.text(message="Name of the project:").execute(),
        "proposal": lambda: ask.text(message="Name of the project:", default="my-app").execute(),
        "secret": lambda: ask.secret(message="Password:").execute(),
        "confirm": lambda: ask.confirm(message="Delete the old build?", default=False).execute(),
        "select": lambda: ask.select(message="Which template?", choices=OPTIONS).execute(),
        "multi": lambda: ask.checkbox(message="Which parts?", choices=OPTIONS).execute(),
        "search": lambda: ask.fuzzy(message="Find a package:", choices=OPTIONS).execute(),
        "number": lambda: ask.number(message="Port:", default=8080).execute(),
        "rawlist": lambda: ask.rawlist(message="Which template?", choices=OPTIONS).execute(),
        "path": lambda: ask.filepath(message="Which file?").execute(),
    }


def of_inquirer():
    import inquirer as ask

    def put(question):
        return ask.prompt([question])

    return {
        "text": lambda: put(ask.Text("v", message="Name of the project")),
        "proposal": lambda: put(ask.Text("v", message="Name of the project", default="my-app")),
        "secret": lambda: put(ask.Password("v", message="API token")),
        "confirm": lambda: put(ask.Confirm("v", message="Delete the old build?")),
        "select": lambda: put(ask.List("v", message="Which template?", choices=OPTIONS)),
        "multi": lambda: put(ask.Checkbox("v", message="Which parts do you need?", choices=OPTIONS)),
        "editor": lambda: put(ask.Editor("v", message="Release notes")),
        "path": lambda: put(ask.Path("v", message="Which folder?")),
    }


def of_bullet():
    import bullet as ask

    return {
        "text": lambda: ask.Input(prompt="Name of the project: ").launch(),
        "secret": lambda: ask.Password(prompt="Password: ").launch(),
        "confirm": lambda: ask.YesNo(prompt="Delete the old build? ").launch(),
        "select": lambda: ask.Bullet(prompt="Which template?", choices=OPTIONS).launch(),
        "multi": lambda: ask.Check(prompt="Which parts do you need?", choices=OPTIONS).launch(),
        "number": lambda: ask.Numbers(prompt="Port: ").launch(),
    }


def of_pick():
    from pick import pick

    return {
        "select": lambda: pick(OPTIONS, "Which template?"),
        "multi": lambda: pick(OPTIONS, "Which parts do you need?", multiselect=True),
    }


def of_simple_term_menu():
    from simple_term_menu import TerminalMenu

    return {
        "select": lambda: TerminalMenu(OPTIONS, title="Which template?").show(),
        "multi": lambda: TerminalMenu(
            OPTIONS, title="Which parts?", multi_select=True, show_multi_select_hint=True
        ).show(),
        "search": lambda: TerminalMenu(OPTIONS, title="Which template?", show_search_hint=True).show(),
    }


def of_rich():
    from rich import prompt as ask

    return {
        "text": lambda: ask.Prompt.ask("Name of the project"),
        "proposal": lambda: ask.Prompt.ask("Name of the project", default="my-app"),
        "choose": lambda: ask.Prompt.ask("Which template?", choices=OPTIONS),
        "number": lambda: ask.IntPrompt.ask("Port", default=8080),
        "secret": lambda: ask.Prompt.ask("Password", password=True),
        "confirm": lambda: ask.Confirm.ask("Delete the old build?"),
    }


def of_click():
    import click as ask

    return {
        "text": lambda: ask.prompt("Name of the project"),
        "proposal": lambda: ask.prompt("Name of the project", default="my-app"),
        "secret": lambda: ask.prompt("Password", hide_input=True),
        "confirm": lambda: ask.confirm("Delete the old build?"),
        "choose": lambda: ask.prompt("Which template?", type=ask.Choice(["minimal", "library"])),
        "pause": ask.pause,
    }


def of_beaupy():
    import beaupy as ask

    return {
        "text": lambda: ask.prompt("Name of the project"),
        "secret": lambda: ask.prompt("Password", secure=True),
        "confirm": lambda: ask.confirm("Delete the old build?"),
        "select": lambda: ask.select(OPTIONS),
        "multi": lambda: ask.select_multiple(OPTIONS),
    }


globals()[f"of_{library}"]()[kind]()
if "PROMPT_DONE" in os.environ:  # the truth, beside the screen
    Path(os.environ["PROMPT_DONE"]).write_text("answered")
if after == "busy":
    for number in range(1, 10_000):
        print(f"  step {number}", flush=True)
        time.sleep(0.4)
time.sleep(600)
