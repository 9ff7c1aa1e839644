"""Yes in the prompt's own letters: the wrong letter, or one that cannot be read, is never pressed."""

from __future__ import annotations

from typing import Iterator

from soak.hostile_scenes.scene import DEPLOY, Scene, acted, ground

__all__ = ["FAMILIES"]

# The question, and what says yes there; nothing where the prompt does not say which of the letters does.
READABLE = {
    "German": ("Fortfahren? [j/N] ", "j"),
    "German, both large": ("Fortfahren? [J/N] ", "Jj"),
    "Dutch": ("Doorgaan? [j/N] ", "j"),
    "Danish": ("Fortsæt? [j/N] ", "j"),
    "Spanish": ("¿Continuar? [s/N] ", "s"),
    "Portuguese": ("Continuar? [s/N] ", "s"),
    "Italian": ("Continuare? [s/N] ", "s"),
    "French": ("Continuer ? [o/N] ", "o"),
    "Polish": ("Kontynuować? [t/N] ", "t"),
    "Czech": ("Pokračovat? [a/N] ", "a"),
    "Russian": ("Продолжить? [д/Н] ", "д"),
    "Ukrainian": ("Продовжити? [т/Н] ", "т"),
    "Finnish": ("Jatketaanko? [k/E] ", "k"),
    "Hungarian": ("Folytatja? [i/N] ", "i"),
    "Turkish": ("Devam edilsin mi? [e/H] ", "e"),
    "a word": ("Continue (yes|no)? ", "yes"),
    "a word, in brackets": ("Continue? [yes/no] ", "yes"),
    "a word, in German": ("Fortfahren? [ja/nein] ", "ja"),
    "a word, in French": ("Continuer ? (oui/non) ", "oui"),
    "a word, in Spanish": ("¿Continuar? (sí/no) ", "sí"),
    "no comes first": ("Proceed? [N/y] ", "y"),
    "no comes first, in German": ("Fortfahren? [N/j] ", "j"),
    "a large letter": ("Proceed? [Y/n] ", "Yy"),
    "Korean": ("계속할까요? [예/아니오] ", "예"),
    "Greek": ("Συνέχεια; [ν/ο] ", "ν"),
    "Armenian": ("Շարունակե՞լ [ա/ո] ", "ա"),
}
UNREADABLE = {
    "letters of a choice": "Go on? [a/b] ",
    "digits": "Go on? [1/0] ",
    "y is no yes": "Keep or yank it? [k/y] ",
    "three letters": "Proceed? [y/n/a] ",
    "two of no": "Proceed? [n/N] ",
    "no letter": "Proceed? [ / ] ",
    "a large letter alone": "Proceed? [N] ",
    "swapped words": "Stop it? [y = go on, n = stop] ",
}


def _letters() -> Iterator[Scene]:
    for number, (language, (text, yes)) in enumerate(READABLE.items()):
        # A large letter may be given in either case.
        letters = tuple(yes) if yes in ("Yy", "Jj") else (yes,)
        for by, takes in (("butler", "line"), ("python", "line") if number % 2 else ("claude", "edit")):
            keys = tuple(f"{one}{chr(10) if takes == 'line' else chr(13)}".encode() for one in letters)
            may = {policy: keys for policy in ground(by, DEPLOY, b"")}
            step = {"text": text, "mode": "line" if takes == "line" else "raw", "takes": takes}
            because = "the answer is the prompt's own word for yes"
            yield acted(f"{language}: {by}", step, by=by, session=DEPLOY, may=may, because=because)


def _unreadable() -> Iterator[Scene]:
    for number, (name, text) in enumerate(UNREADABLE.items()):
        by = ("butler", "claude")[number % 2]
        step = {"text": text, "mode": "line", "takes": "line"}
        yield acted(f"{name}: {by}", step, by=by, session=DEPLOY)
        step = {"text": text, "mode": "raw", "takes": "key"}
        yield acted(f"{name}, one key: a script", step, session=DEPLOY)


FAMILIES = {"letters of other languages": list(_letters()), "letters that cannot be read": list(_unreadable())}
