"""Which word or letter says yes at a prompt, as the prompt itself spells it.  Pure."""

from __future__ import annotations

import re

__all__ = ["affirmative"]

# What says yes and what says no, as programs pair them.  A letter alone says nothing: in Finnish, e is no.
_WORDS = """
    y/n yes/no j/n ja/nein ja/nej ja/nee ja/nei o/n oui/non s/n si/no sí/no sì/no sim/não sim/nao t/n tak/nie
    d/n da/ne da/nu д/н да/нет да/не так/ні т/н e/h evet/hayır k/e kyllä/ei i/n igen/nem ν/ο ναι/όχι
"""
_PAIRS = frozenset(tuple(pair.split("/")) for pair in _WORDS.split())
_MARKED = re.compile(r"[\[(](\w)[\])](\w*)")  # [Y]es/[N]o
_CHOICE = re.compile(r"[\[(<‹]([^\[\](){}<>‹›\n]{1,40})[\])>›]|(?:^|[ ?])(\w{1,5}(?: ?[/|] ?\w{1,5})+)(?=[ ?:]*$)")
_BETWEEN = re.compile(r"\s*(?:[/|,]|\bor\b|\boder\b|\bou\b)\s*", re.IGNORECASE)


def affirmative(line: str) -> str | None:
    """The word or letter that says yes at a prompt that shows what may be typed; None if that cannot be read.

    The first and the last of the choices shown have to be a yes and a no of one language, or the only one a yes.

    >>> affirmative("Fortfahren? [j/N] "), affirmative("Is this ok [y/d/N]: "), affirmative("Продолжить? [Д/н]")
    ('j', 'y', 'д')
    >>> affirmative("Really? (yes|no) "), affirmative("[Y]es/[N]o: "), affirmative("Jatketaanko? [k/E]")
    ('yes', 'y', 'k')
    >>> affirmative("Delete? [x/z] "), affirmative("Go on? [no] ")
    (None, None)
    """
    marked = [(found[1].casefold(), found[2]) for found in _MARKED.finditer(line)]
    if len(marked) > 1 and all(rest for _, rest in marked):
        return _yes([f"{letter}{rest}".casefold() for letter, rest in marked], [letter for letter, _ in marked])
    found = [one[1] or one[2] for one in _CHOICE.finditer(line.replace("[n]", "n").replace("[y]", "y"))]
    choices = [[word.casefold() for word in _BETWEEN.split(one.strip()) if word not in ("", "?")] for one in found]
    several = [words for words in choices if len(words) > 1]
    if several:  # the nearest to the cursor
        return _yes(several[-1], several[-1])
    alone = choices[-1][0] if choices and choices[-1] else ""
    return {"y": "y", "yes": "yes", "yn": "y", "ny": "y"}.get(alone)


def _yes(words: list[str], typed: list[str]) -> str | None:
    """What is typed for yes, of these words for what may be answered."""
    if (words[0], words[-1]) in _PAIRS:
        return typed[0]
    return typed[-1] if (words[-1], words[0]) in _PAIRS else None
