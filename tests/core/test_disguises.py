"""A sentence with a consequence is refused in every disguise in which a person still reads it."""

from __future__ import annotations

import unicodedata
from typing import Callable

import pytest
from core.consequence_sentences import WITH_CONSEQUENCE
from hypothesis import given, settings
from hypothesis import strategies as st

from stallkit.core.consequences import consequence

Draw = Callable[[int], int]  # a number below another
Disguise = Callable[[str, Draw], str]

SENTENCES = [text for texts in WITH_CONSEQUENCE.values() for text in texts]
LETTERS = "abcdefghijklmnopqrstuvwxyz"
NO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u180e\u3164\u200e"
MARKS = "".join(map(chr, [*range(0x300, 0x340), 0x20DD, 0x20E0, 0x489]))
# The same letters in other forms, which NFKC undoes, and in look-alikes of other scripts, which it does not.
FORMS = [0x1D400, 0x1D434, 0x1D4D0, 0x1D56C, 0x1D5A0, 0x1D670, 0xFF21, 0x24B6]
LOOK_ALIKE = str.maketrans("aceopxyisjhd", "асеорхуіѕјһԁ")
GREEK = str.maketrans("abeiknoptuvxy", "αβεικηορτυνχγ")
SMALL_CAPITALS = str.maketrans("abcdefghijklmnoprstuvwyz", "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ")
UPSIDE_DOWN = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ɐqɔpǝɟƃɥᴉɾʞןɯuodbɹsʇnʌʍxʎz")
RUNES = str.maketrans("abcdefghiklmnoprstuw", "ᚨᛒᚲᛞᛖᚠᚷᚺᛁᚲᛚᛗᚾᛟᛈᚱᛊᛏᚢᚹ")
CHEROKEE = str.maketrans("abcdegheijklmoprstvwyz", "ᎪᏴᏟᎠᎬᏀᎻᎬᎥᎫᏦᏞᎷᎾᏢᎡᏚᎢᏙᎳᎩᏃ")
BRAILLE = str.maketrans(LETTERS, "⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗⠎⠞⠥⠧⠺⠭⠽⠵")
CURRENCIES = str.maketrans("abcdefhklmnopstuwy", "₳฿₵₫€₣♄₭₤₥₦ø₱$₮µ₩¥")
MATHEMATICS = str.maketrans("adeflntu", "∀∂∃∫⌊∩⊤∪")
LEET = {"a": "4@", "e": "3", "i": "1!|", "l": "1|", "o": "0", "s": "5$", "t": "7+", "b": "8", "g": "9"}


def every_letter(change: Callable[[str], str]) -> Disguise:
    return lambda text, draw: "".join(change(char) if char.isalpha() else char for char in text)


def form(text: str, draw: Draw) -> str:
    """All base letters in one other form: bold, italic, double-struck, fullwidth, circled."""
    first = FORMS[draw(len(FORMS))]
    plain = unicodedata.normalize("NFKD", text)
    return "".join(chr(first + ord(char.upper()) - 65) if char.isascii() and char.isalpha() else char for char in plain)


def cases(text: str, draw: Draw) -> str:
    return "".join(char.upper() if draw(2) else char.lower() for char in text)


def no_width(text: str, draw: Draw) -> str:
    return "".join(char + NO_WIDTH[draw(len(NO_WIDTH))] * draw(2) for char in text)


def marks(text: str, draw: Draw) -> str:
    """A mark over every letter, as many as three."""
    return "".join(char + MARKS[draw(len(MARKS))] * (1 + draw(3)) if char.isalpha() else char for char in text)


def bare(text: str, draw: Draw) -> str:
    """Without accents, as on the wrong keyboard."""
    return "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))


def apart(text: str, draw: Draw) -> str:
    sign = " .-_·*~"[draw(7)]
    return "   ".join(sign.join(word) for word in text.split())


def upright(text: str, draw: Draw) -> str:
    """One letter a row, in a box, a blank row between words."""
    return "\n".join(f"│ {char} │" for char in text)


def leet(text: str, draw: Draw) -> str:
    return "".join(LEET[char][draw(len(LEET[char]))] if char in LEET and draw(3) else char for char in text)


def broken(text: str, draw: Draw) -> str:
    """Hard wrapped, as narrow terminals do, with and without a hyphen, in a box or not.

    Not where it takes two words together: those broken in one of them and between them as well are not always found.
    """
    if " " in (consequence(text) or "").split(": ")[1]:
        return text
    width = 10 + draw(30)
    end, start = (("", ""), ("-", ""), ("  │", "│ "), (" ", "   "), ("", "> "))[draw(5)]
    return f"{end}\n{start}".join(text[place : place + width] for place in range(0, len(text), width))


PLAIN: list[Disguise] = [cases, no_width, marks, bare, apart, upright, broken]
LATIN: list[Disguise] = [form, leet]


def latin(text: str) -> bool:
    return all(unicodedata.name(char).startswith("LATIN") for char in text if char.isalpha())


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(SENTENCES), st.data())
def test_no_disguise_hides_a_consequence(text: str, data: st.DataObject) -> None:
    disguise = data.draw(st.sampled_from(PLAIN + LATIN * latin(text)))
    shown = disguise(text, lambda below: data.draw(st.integers(0, below - 1)))
    assert consequence(f"{shown}\nContinue? [y/N] ") is not None, shown


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SENTENCES), st.data())
def test_nor_do_two_at_once(text: str, data: st.DataObject) -> None:
    def draw(below: int) -> int:
        return data.draw(st.integers(0, below - 1))

    shown = data.draw(st.sampled_from([apart, upright, broken]))(text, draw)
    shown = no_width(marks(cases(shown, draw), draw), draw)
    assert consequence(f"{shown}\nContinue? [y/N] ") is not None, shown


@pytest.mark.parametrize(
    "table", [SMALL_CAPITALS, UPSIDE_DOWN, RUNES, CHEROKEE, BRAILLE, CURRENCIES, MATHEMATICS, GREEK, LOOK_ALIKE]
)
@pytest.mark.parametrize("word", ["delete", "remove", "erase", "publish all data", "pay now", "reboot", "format disk"])
def test_letters_of_other_scripts_do_not_pass(table: dict[int, int], word: str) -> None:
    assert consequence(f"{word.translate(table)}\nContinue? [y/N] ") is not None
    once = next(place for place, char in enumerate(word) if not char.translate(table).isascii())
    assert consequence(f"{word[:once]}{word[once].translate(table)}{word[once + 1 :]}\nContinue? [y/N] ") is not None


SQUARES = "".join(chr(0x1F170 + ord(char) - 97) for char in "delete")
FLAGS = "".join(chr(0x1F1E6 + ord(char) - 97) for char in "delete")


@pytest.mark.parametrize(
    "text",
    [
        SQUARES,
        FLAGS,
        "乇尺卂丂乇 all",
        "рау",
        "РАУ",
        "р.а.y",
        "全部delete",
        "1delete",
        "autoremove",
        "d●lete",
        "d\ue000lete",
        "dele\ud800te",
        "de\u0e31le\u0e31te",
        "מחק הכל",
        "احذف الكل",
        "διαγραφή",
        "ลบทั้งหมด",
        "सब मिटाओ",
        "\u0378",
        "loeschen",
        "DIE FESTPLATTE WIRD GELOESCHT",
        "Silme işlemi: SİLİNECEK",
        "re move all",
        "dele te all, or destr oy",
        "d 3 l 3 t 3",
        "D.E.L.E.T.E",
        "d e l e t e a l l",
        "de\n\nlete",
        "|dele|\n|ted |",
        "5hut d0wn",
        "e11minat3",
    ],
)
def test_more_of_them(text: str) -> None:
    assert consequence(f"{text}\nContinue? [y/N] ") is not None


@settings(deadline=None)
@given(st.text(max_size=400) | st.text(" \t\n\r|-_>a0é\u3000│⠋", max_size=60))
def test_any_text_has_an_answer_in_one_line(text: str) -> None:
    found = consequence(text)
    assert found is None or (found.isprintable() and len(found) < 120)
