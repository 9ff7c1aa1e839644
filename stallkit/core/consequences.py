"""Whether a text speaks of something that a machine may not decide: a loss, a payment, a permission, a reboot.

A list of words is never complete, so a text without one of them is not harmless: it is one where nothing speaks against
a key.  What cannot be read, because its letters are of no known script or of two in one word, is refused as well.
"""

from __future__ import annotations

import re
from functools import lru_cache

from stallkit.core import late
from stallkit.core.lexicon import Hit, harmless, plain, posed, zero_counts
from stallkit.core.obscured import obscured
from stallkit.core.readings import fold, mixed, readings

__all__ = ["consequence", "is_shell_line"]

_UNKNOWN_SCRIPT = "it is written in a script that is not known"
_BEFORE = "usd|eur|gbp|jpy|cny|rmb|rub|chf|pln|czk|sek|nok|dkk|inr|krw|btc|eth"
_BEHIND = f"{_BEFORE}|kr|zl|kc|lei|円|원|元"
_CURRENCIES = ("€", "$", *_BEHIND.split("|"))
_PRICE = late.compile(rf"€|\$ ?\d|\d ?(?:{_BEHIND})(?![a-z数素])|\b(?:{_BEFORE}) ?\d")
_LONGEST_SHOWN = 40
_INK = late.compile(r"[^\s|]|\n(?=[ |]*\n)")  # and blank rows


@lru_cache(maxsize=16)  # of the looks at one prompt, each of which may have some hundred rows above it
def consequence(text: str) -> str | None:
    """Why a machine may not answer this text, in one line; None where nothing speaks against it.

    The text is what stands above a prompt, with the prompt's own row, rows joined by newlines.  It is refused for a
    word of loss, deletion, payment, permission, reboot or publication, also in the disguises that `readings` knows, for
    letters of an unknown script or of two scripts in one word, and for what only a person can read (`obscured`).  A
    count of zero ("0 to remove") is no loss.

    >>> consequence("All files will be deleted.\\nContinue? [y/N]")
    "it speaks of deletion: 'deleted'"
    >>> consequence("3 newly installed, 0 to remove and 5 not upgraded.\\nContinue? [Y/n]")
    """
    folded = fold(text)
    if folded is None:
        return _UNKNOWN_SCRIPT
    word = mixed(folded)
    if word is not None:
        return f"letters of two scripts are mixed in {_as_shown(word, text)}"
    found = _found(folded)
    if found is not None and "0" in folded:
        counted = _without_zero_counts(folded)
        found = _found(counted) if counted != folded else found
    if found is None:
        return obscured(text)
    kind, word = found
    return f"it speaks of {kind}: {_as_shown(word, text)}"


def _found(folded: str) -> Hit | None:
    """Kind and word of one hit."""
    priced = any(sign in folded for sign in _CURRENCIES)
    price = _PRICE.search(folded) if priced else None
    if price is not None:
        return "payment", price.group()
    read = readings(folded)
    hit = plain().found(read.words)
    if hit is not None:  # few texts have one
        hit = plain().found(harmless().sub(" ", read.words))
    return hit or plain().apart(read.apart) or plain().cut(read.pieces) or posed().found(read.posed)


def _as_shown(word: str, text: str) -> str:
    """The word as it stands in the text, where it can be printed; else as it was read."""
    for shown in text.split():
        if len(shown) <= 4 * _LONGEST_SHOWN and shown.isprintable() and word in (fold(shown) or ""):
            return repr(shown.strip(".,;:!?()[]{}<>\"'`*")[:_LONGEST_SHOWN])
    return repr(word[:_LONGEST_SHOWN])


def _without_zero_counts(folded: str) -> str:
    """The text without counts of nothing, which may be broken over rows anywhere."""
    places = [found.start() for found in _INK.finditer(folded)]
    closed = "".join(folded[place] for place in places)
    kept = list(folded)
    for found in zero_counts().finditer(closed):
        for place in places[found.start() : found.end()]:
            kept[place] = " "
    return "".join(kept)


_USER = r"[\w.-]+@[\w.-]+"
_SHELL = late.compile(
    rf"""^(?:\([\w.: -]{{1,40}}\)[ ]?)?(?:                                   # (venv)
        {_USER}(?:[: ][^?\n]*?)?[$\#%](?:[ ]|$)                               # ada@host:~/work$ make
      | {_USER}[ ][~/][^\s>]*>(?:[ ]|$)                                       # fish
      | \[{_USER}[ :][^\]\n]*\][ ]?[$\#%](?:[ ]|$)                           # [root@box ~]# make
      | [~/][^\s?:>|]*(?:[ ][\w./:()✗-]+){{0,3}}[ ][$\#%❯➜λ»›](?:[ ]|$)       # ~/proj main ❯ npm init
      | [~/][^\s?:>|]*[$\#](?:[ ]|$)
      | (?:ba|da|z|k|a|tc|c)?sh(?:-\d[\w.]*)?[$\#%](?:[ ]|$)                  # bash-5.2$
      | [\w.-]+:[~/]\S*[ ][\w.-]+[$\#](?:[ ]|$)                              # host:~ ada$
      | [A-Za-z][\w.-]{{1,30}}[%$\#](?:[ ]+(?=[a-z./~])|[ ]?$)                 # host% make
      | \$(?:[ ]+(?![\d.,]+(?:\s|$))\S|[ ]?$)                                 # $ ./setup.sh
      | ➜[ ]{{1,2}}[\w~][\w./~-]*(?:[ ](?:git:\(|✗|on[ ])|[ ]?$)               # ➜  dir git:(main) ✗ make
      | PS[ ](?:[A-Z]:|[/~])[^?\n>]*>(?:[ ]|$) | [A-Z]:\\[^>\n]*>
      | [└╰]─[^│|?\n]*[$\#%❯➤>](?:[ ]|$)
    )""",
    re.VERBOSE,
)


def is_shell_line(line: str) -> bool:
    """Whether a row is a shell's prompt, with or without a command behind it.

    A bare ``❯``, ``%`` or ``#`` is none: menus, percentages and headings have them.

    >>> is_shell_line("dev@box:~/x$ ./setup.sh"), is_shell_line("# Title"), is_shell_line("$ 12.00")
    (True, False, False)
    """
    return _SHELL.match(line[:400]) is not None
