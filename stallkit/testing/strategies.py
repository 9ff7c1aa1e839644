"""Hypothesis strategies: screens, prompts in every form, screens that only resemble a prompt, keys and packs.

    @given(prompt_screens(signature))
    def test_it_is_seen(screen): ...

`prompt_screens` keeps all that a prompt is recognised by; `near_misses` keeps its words where it is not live.
"""

from __future__ import annotations

from typing import Callable, Collection, Sequence

from attrs import evolve
from hypothesis import strategies as st

from stallkit.detect.signature import Kind, Pack, Signature
from stallkit.terminal.keys import KEY_NAMES, Key, Keys
from stallkit.terminal.screen import Screen
from stallkit.testing.dress import Physical, dressed
from stallkit.testing.random_packs import WORDS, cases

__all__ = ["FORMS", "keys", "near_misses", "packs", "prompt_screens", "screens"]

_SCROLLBACK = [
    "Reading package lists... Done",
    "drwxr-xr-x 2 dev dev 4096 Nov  2 10:11 src",
    "Compiled 214 files.",
    "名前を変更しました。",
    "café ✨ ready",
    "  at main (src/index.js:12:3)",
    "",
]
_ANSWERS: dict[Kind, list[str]] = {
    Kind.CONFIRM: ["y", "n", "yes"],
    Kind.SELECT: ["1", "2"],
    Kind.TEXT: ["acme"],
    Kind.QUESTION: ["acme"],
}
_BUSY = ["⠹ Building the project… (12s · esc to interrupt)", "✻ Thinking… (3s · esc to interrupt)"]


def screens() -> st.SearchStrategy[Screen]:
    """Any screen: text of every sort, fragments of prompts, control sequences, odd cursors and sizes."""
    return _screens()


def prompt_screens(signature: Signature, shown: Sequence[Screen] = ()) -> st.SearchStrategy[Screen]:
    """Screens that show the signature's prompt, live, as different terminals and captures would show it.

    They are made of its ``hits`` and of `shown`, such as the screens of `examples`: wrapped at other widths and joined
    again, in colours, with blank rows below, other output above (not on the alternate screen), rows that were redrawn,
    no-break spaces, characters without width, and with or without a known cursor.  Raises ValueError where there is no
    screen to make them of.
    """
    return _prompt_screens(_bases(signature, shown))


def near_misses(
    signature: Signature, shown: Sequence[Screen] = (), forms: Collection[str] = ()
) -> st.SearchStrategy[Screen]:
    """Screens that only quote the signature's prompt, or show it after its answer: the session does not wait in it.

    `forms` are some of `FORMS`, by default all: quoted in ``prose``, in a ``code block``, in a ``diff``; ``answered``,
    only for prompts at the cursor; ``busy below``, with evidence of work under it.  The cursor is visible, after the
    text: without it some of them would equal the prompt itself.  Raises ValueError for another form, and where there is
    no screen to make them of.
    """
    unknown = set(forms) - set(FORMS)
    if unknown:
        raise ValueError(f"unknown forms {sorted(unknown)}: {', '.join(FORMS)} are known")
    bases = _bases(signature, shown)
    at_cursor = any(clause.where == "prompt_line" for clause in signature.all_of)
    wanted = [form for form in FORMS if (not forms or form in forms) and (at_cursor or form != "answered")]
    if not wanted:
        raise ValueError(f"{signature.id} is not a prompt at the cursor: nothing shows that it was answered")
    return _near_misses(signature, bases, wanted)


def keys() -> st.SearchStrategy[Keys]:
    """Keys of every sort: named ones, words, and text that has to be quoted."""
    named = st.sampled_from(sorted(KEY_NAMES)).map(lambda name: Key(name=name))
    printable = st.characters(exclude_categories=("C", "Z"), include_characters=" ")
    typed = st.one_of(st.sampled_from(["y", "yes", "1", "Enter", "it's", "\\"]), st.text(printable, min_size=1))
    literal = typed.filter(str.isprintable).map(lambda text: Key(literal=text))
    return st.lists(st.one_of(named, literal), min_size=1, max_size=5).map(lambda drawn: Keys(tuple(drawn)))


def packs() -> st.SearchStrategy[Pack]:
    """Packs of random signatures, of every state, region and order; they carry no examples."""
    return cases().flatmap(lambda case: st.sampled_from(case.packs))


@st.composite
def _screens(draw: st.DrawFn) -> Screen:
    pieces = st.one_of(
        st.sampled_from([*WORDS, *_SCROLLBACK, *_BUSY, "Proceed? [y/N] ", "❯ 1. Yes", "Password: ", "│", "─" * 20]),
        st.sampled_from(["\n", "\n", "\n", "\r", "\t", "\x1b[1m", "\x1b[2K", "\x1b]0;title\x07", "\x9b", "\x00"]),
        st.text(max_size=8),
    )
    text = "".join(draw(st.lists(pieces, max_size=24)))
    rows = text.count("\n")
    cursor = draw(st.none() | st.tuples(st.integers(0, 100), st.integers(0, rows + 2)))
    size = draw(st.sampled_from([None, None, (80, 24), (40, 10), (1, 1), (200, 50)]))
    flags = st.sampled_from([None, True, False])
    title = draw(st.none() | st.sampled_from(["", "✳ agent", "vim"]) | st.text(max_size=8))
    return Screen.from_text(text, cursor, size, draw(flags), title, draw(flags))


@st.composite
def _prompt_screens(draw: st.DrawFn, bases: Sequence[Screen]) -> Screen:
    base = draw(st.sampled_from(bases))
    shown = Physical.of(base)
    if base.alternate is not True:
        above = draw(st.lists(st.sampled_from(_SCROLLBACK), max_size=5))
        shown = shown.under([*above, ""] if above else [])
    if base.cursor is None and draw(st.booleans()):
        shown = shown.with_cursor_behind()
    shown = shown.above([""] * draw(st.integers(0, 3)))
    return draw(dressed(shown))


def _quoted(lines: list[str]) -> list[str]:
    quotes = [f'The screen read "{line.strip()}" and it went on by itself.' for line in lines]
    return ["Here is what happened before:", "", *quotes]


def _in_code(lines: list[str]) -> list[str]:
    return ["The manual shows this:", "", "```", *lines, "```", "", "That is all there is to it."]


def _in_diff(sign: str) -> Callable[[list[str]], list[str]]:
    return lambda lines: ["@@ -12,4 +12,4 @@", " before", *(sign + line for line in lines), " after"]


@st.composite
def _near_misses(draw: st.DrawFn, signature: Signature, bases: Sequence[Screen], forms: Sequence[str]) -> Screen:
    base = draw(st.sampled_from(bases))
    form = draw(st.sampled_from(forms))
    lines = [line.rstrip() for line in base.lines]
    while lines and not lines[-1]:
        lines.pop()
    if form == "answered":
        prompt = base.prompt_line
        answer = draw(st.sampled_from(_ANSWERS.get(signature.kind or Kind.TUI, [""])))
        typed = prompt.text if prompt.text.endswith(" ") or not answer else prompt.text + " "
        below = draw(st.sampled_from([["Setting up acme (4.2) ...", "Done."], ["Installed 12 packages."]]))
        made = [*lines[: prompt.row], typed + answer, *below]
    elif form == "busy below":
        made = [*lines, "", draw(st.sampled_from(_BUSY))]
    else:
        ink = [line for line in lines if line.strip()]
        diff = _in_diff(draw(st.sampled_from("+- ")))
        made = {"prose": _quoted, "code block": _in_code, "diff": diff}[form](ink)
    shown = Physical(tuple(made), None)
    shown = shown.with_cursor_behind() if form == "busy below" else shown.with_cursor_below()
    return draw(dressed(evolve(shown, visible=True)))  # a printed text has the cursor visible after it


FORMS = ("prose", "code block", "diff", "answered", "busy below")


def _bases(signature: Signature, shown: Sequence[Screen]) -> list[Screen]:
    bases = [*map(Screen.from_text, signature.hits), *shown]
    if not bases:
        raise ValueError(f"{signature.id} has no hits: give the screens that show it")
    return bases
