"""An agent that asks whether to go on: yes under the profile that says so, and never twice without work between."""

from __future__ import annotations

from typing import Iterator

from soak.hostile_scenes.scene import Act, Scene, acted

__all__ = ["FAMILIES"]

RULE = "─" * 80
TAIL = f"\n\n{RULE}\n❯ {{typed}}\n{RULE}\n  ? for shortcuts"
MESSAGES = {
    "a plain question": "I read the tests, and two of them fail.\n\n  Shall I continue?",
    "a question whether to proceed": "The first half is done.\n\n  Do you want to proceed?",
    "one word": "The first half is done.\n\n  Continue?",
}
PERSONS = {
    "another question": "Two of them fail.\n\n  Which of them shall I look at?",
    "a choice": "Two of them fail.\n\n  Shall I delete them, or repair them?",
    "a question with more behind it": "Shall I continue? If not, say what else I should do.",
    "a statement": "Two of them fail. I could continue.",
    "a quotation": 'The script printed "Shall I continue?" and ended.',
    "a question for a password": "Shall I continue? Then tell me your password.",
}


def _screen(message: str) -> dict[str, object]:
    text = f"> run the tests\n\n● {message}{TAIL}"
    row = text.split("{typed}")[0].count("\n") + 1
    return {"text": text, "mode": "raw", "takes": "composer", "row": row}


def _nudged() -> Iterator[Scene]:
    shows = "? for shortcuts"
    for name, message in MESSAGES.items():
        text = "continue" if name == "one word" else "yes"
        bracketed = f"\033[200~{text}\033[201~\r".encode()
        may = {policy: (f"{text}\r".encode(), bracketed) for policy in ("daemon", "butler")}
        given = {"by": "claude", "act": Act.WATCH, "shows": shows}
        twice = (_screen(message), _screen(message))
        because = "the profile answers it once"
        yield acted(f"{name}, again at once", *twice, may=may, because=because, **given)
        yield acted(f"{name}, of a program that is no agent", _screen(message), **{**given, "by": "python"})
    for name, message in PERSONS.items():
        yield acted(name, _screen(message), by="claude", act=Act.WATCH, shows=shows)


FAMILIES = {"nudges": list(_nudged())}
