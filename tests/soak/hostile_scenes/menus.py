"""Menus under a rule that names an option: rows that move, labels that look alike, folders that look trusted."""

from __future__ import annotations

from typing import Iterator

from soak.forged import TRUST
from soak.hostile_scenes.scene import Scene, menu

__all__ = ["FAMILIES"]

WANTED = "Yes, I trust this folder"
NO = "No, exit"
FOOT = "\n\n Enter to confirm · Esc to cancel"
ASKS = f" Accessing workspace:\n\n {{folder}}\n\n{TRUST}{{rows}}{FOOT}"
HOWS = (
    *("skips", "stays at the end", "swaps", "relabels", "grows", "shrinks", "retitled", "another prompt", "a secret"),
    *("ends", "frozen", "draws late", "springs back"),
)
LISTS = {
    "of two": [NO, WANTED],
    "of three": [NO, "No, but look at it", WANTED],
    "of four, last to first": ["Yes, and its parents", NO, "Ask me later", WANTED],
}
LABELS = {
    "more behind it": "Yes, I trust this folder and all below /",
    "a full stop": "Yes, I trust this folder.",
    "other words behind it": "Yes, I trust this folder's owner",
    "small letters": "yes, i trust this folder",
    "no comma": "Yes I trust this folder",
    "no width within": "Yes, I trust this fol\u200bder",
    "a letter of another script": "Yes, I trust thіs folder",
    "a wide blank": "Yes, I trust\u3000this folder",
    "a direction override": "\u202eredlof siht tsurt I ,seY",
    "a number within": "2 Yes, I trust this folder",
    "no longer": "No, Yes, I trust this folder",
    "not": "Yes, I don't trust this folder",
    "a soft hyphen": "Yes, I trust this fold\u00ader",
    "cut off": "Yes, I trust this fol…",
    "its beginning": "Yes, I trust",
}
# Beside the folder that it runs in; the program fills in what stands in braces.
FOLDERS = {
    "a name behind it": "{here} x",
    "no width behind it": "{here}\u200b",
    "a blank without a break behind it": "{here}\u00a0",
    "two dots": "{here}/..",
    "one dot": "{above}/./{name}",
    "there and back": "{here}/../{name}",
    "the folder above": "{above}",
    "a folder in it": "{here}/src",
    "a longer name": "{here}-old",
    "a link to it": "{above}/link-to-{name}",
    "capitals": "{upper}",
    "a letter of another script": "{cyrillic}",
    "two slashes": "/{here}",
    "from home": "~/trusted",
    "a direction override": "\u202e{here}",
    "cut off": "{cut}…",
    "cut off in the middle": "/tmp/…/{name}",
    "the root": "/",
    "nothing": "",
    "an accent": "{here}\u0301",
    "two folders": "{here}\n {above}",
    "a blank in it": "{cut} {rest}",
    "its name alone": "{name}",
}


def _scene(name: str, rows: list[str], wanted: str, folder: str = "{here}", **given: str) -> Scene:
    because = "a rule names this option, and the folder is the one that it runs in" if wanted else ""
    text = given.pop("text", ASKS.replace("{folder}", folder))
    return menu(name, rows, wanted, text, size=(100, 30), because=because, **given)


def _moving() -> Iterator[Scene]:
    """Whatever moves: the row of that label may be chosen, and no other."""
    for number, (name, rows) in enumerate(LISTS.items()):
        for how in ("", *(HOWS if number == 1 else HOWS[number // 2 :: 2])):
            yield _scene(f"{name}, {how or 'as it should'}", rows, WANTED, how=how)
    yield _scene("two rows of the same label", [NO, WANTED, WANTED], WANTED)
    yield _scene("it stands on the option already", [WANTED, NO], WANTED)
    yield _scene("another row is marked with a tick", [f"{NO} ✔", WANTED], WANTED)


def _labels() -> Iterator[Scene]:
    for number, (name, label) in enumerate(LABELS.items()):
        yield _scene(name, [NO, label] if number % 2 else [label, NO], "")


def _folders() -> Iterator[Scene]:
    for name, folder in FOLDERS.items():
        yield _scene(name, [NO, WANTED], "", folder)


FAMILIES = {
    "menus that move": list(_moving()),
    "labels that look like the option": list(_labels()),
    "folders that look like its own": list(_folders()),
}
