"""The page stands alone, escapes what came from a corpus, and shows each miss as the screen it was."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from labelled import BUSY, READS, row, write
from stallkit_lab.evaluate.backends import EvalOptions, evaluate_paths
from stallkit_lab.evaluate.evaluation import tally
from stallkit_lab.evaluate.prediction import Prediction
from stallkit_lab.evaluate.report_html import page

from stallkit import Engine, Screen, State
from stallkit.detect.layout import PARTS
from stallkit.detect.signature import Certainty, Kind
from stallkit.terminal.text import cells

_EMPTY = {"meta", "link", "br", "rect", "img", "hr"}


class Reader(HTMLParser):
    """What is in a page: tags, attributes and text; and that every tag is closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.screens: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in _EMPTY:
            self._open.append(tag)
        if tag == "pre":
            self.screens.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "pre" in self._open:
            self.screens[-1] += data


def miss(screen: Screen | None, **more: Any) -> Prediction:
    values = {
        "id": "a", "program": "p", "true_state": State.WORKING, "true_kind": None, "state": State.WAITING,
        "kind": Kind.TEXT, "certainty": Certainty.SURE, "pressed": ("none", "none"), "screen": screen,
    }  # fmt: skip
    return Prediction(**{**values, **more})


def shown(*predictions: Prediction, **more: Any) -> str:
    settings = {"packs": {"p": "1"}, "screen_only": False, "leave_out": None}
    return page({**tally(predictions), "settings": settings, "problems": [], **more}, predictions)


def test_a_page_of_everything_is_well_formed_and_loads_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", row("a"), row("b", BUSY), row("c", BUSY, "idle"), row("d", **READS), "{")
    found = evaluate_paths([path], Engine.default().packs, EvalOptions(holdout=True))
    change = {
        "became_right": ["x"], "became_wrong": ["y"], "appeared": [], "vanished": [],
        "figures": {"waiting recall": (0.5, None)}, "regressions": ["<b>worse"],
    }  # fmt: skip
    text = page(found.as_object(["kind", "program", "signature"]) | {"baseline": change}, found.predictions)
    reader = Reader(text)
    assert {"svg", "table", "pre", "article"} <= set(reader.tags)
    assert not {"link", "img", "iframe", "object", "form"} & set(reader.tags)
    assert reader.tags.count("script") == 1 and not [name for name, _ in reader.attributes if name.startswith("on")]
    links = [value for name, value in reader.attributes if name in ("href", "src", "action", "xlink:href")]
    assert all(link and link.startswith("#") for link in links)
    assert not re.search(r"url\(|@import|https?:", text)
    assert "prefers-color-scheme: dark" in text


@given(st.text(max_size=200), st.text(max_size=20), st.integers(0, 60), st.integers(0, 30))
def test_nothing_of_a_corpus_becomes_markup(text: str, name: str, column: int, row: int) -> None:
    hostile = f"</pre><script>alert(1)</script>&amp;{text}\"'<"
    screen = Screen.from_text(hostile, cursor=(column, row))
    plain = Reader(shown(miss(screen)))
    reader = Reader(shown(miss(screen, id=hostile + name, signature=name, reasons=(hostile, text))))
    assert reader.tags.count("script") == 1 and reader.tags.count("article") == 1
    assert [tag for tag in reader.tags if tag != "li"] == plain.tags


@given(
    st.lists(st.text(alphabet="ab c你é👍-", max_size=12), min_size=1, max_size=6), st.integers(0, 15), st.integers(0, 8)
)
def test_the_cursor_is_shown_in_its_cell_and_the_text_is_whole(lines: list[str], column: int, row: int) -> None:
    screen = Screen.from_text("\n".join(lines), cursor=(column, row), cursor_visible=True)
    text = shown(miss(screen))
    found = re.search(r'<span class="cursor">(.*?)</span>', text)
    assert found is not None and screen.cursor is not None
    before = text[: found.start()].rpartition('<pre class="screen">')[2]
    assert before.count("\n") == screen.cursor.row
    width = cells(re.sub("<[^>]*>", "", before.rpartition("\n")[2]))
    assert width <= column < width + max(1, cells(found[1]))
    (drawn,) = Reader(text).screens
    kept = [line.rstrip() for line in drawn.split("\n")]
    wanted = [line.rstrip() for line in screen.lines]
    assert kept[: len(wanted)] == wanted and not any(kept[len(wanted) :])


def test_a_hidden_cursor_is_drawn_otherwise() -> None:
    text = shown(miss(Screen.from_text("hi", cursor=(0, 0), cursor_visible=False)))
    assert 'class="cursor hidden">h<' in text


DIALOG = """\
> fix the helper

╭───────────────────────────╮
│ Run this command?         │
│                           │
│ ❯ 1. Yes                  │
│   2. No, and say why      │
│ Enter to confirm          │
╰───────────────────────────╯"""


def test_the_parts_stand_beside_the_rows() -> None:
    text = shown(miss(Screen.from_text(DIALOG, cursor=(2, 5))))
    (drawn,) = Reader(text).screens
    assert drawn == DIALOG
    marks = re.search(r'<pre class="screen">(.*?)</pre>', text, re.DOTALL)
    assert marks is not None
    found = [re.match(r'<span class="of (\w+)"(?: data-part="([^"]*)")?></span>', row) for row in marks[1].split("\n")]
    assert [one and (one[1], one[2]) for one in found] == [
        ("person", "person"), None, None, ("dialog", "dialog"), None, ("options", "dialog options"),
        ("options", None), ("hints", "dialog hints"), None,
    ]  # fmt: skip
    assert all(f".{part} {{" in text for part in PARTS)


def test_the_browser_runs_the_pages_own_script_alone() -> None:
    text = shown(miss(None))
    [script] = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in text


# As much of a page as the script asks for: one table, whose heads are pressed; what it says then.
_PAGE = """
const cell = (text) => ({
  textContent: text, marks: {}, getAttribute(name) { return this.marks[name]; },
  setAttribute(name, value) { this.marks[name] = value; }, removeAttribute(name) { delete this.marks[name]; },
  replaceChildren(child) { this.button = child; },
});
const row = (...texts) => ({ cells: texts.map(cell) });
const head = { ...row("program", "cases", ""), after(...given) { shown = given; } };
let shown = [row("b", "9", "x"), row("a", "10", "y"), row("d", "", "z"), row("c", "0.5", "w")];
const document = {
  querySelectorAll: () => [{ rows: [head, ...shown] }],
  createElement: () => ({ addEventListener(_, act) { this.press = act; } }),
};
SCRIPT
for (const at of [1, 1, 0]) {
  head.cells[at].button.press();
  const marks = head.cells.map((one) => one.marks["aria-sort"] ?? "").join();
  console.log(marks, shown.map((one) => one.cells[0].textContent).join(""));
}
console.log(head.cells[2].button === undefined);
"""


def test_a_table_is_sorted_by_the_head_that_is_pressed() -> None:
    """Numbers as numbers, the largest first; what is empty stays last."""
    [script] = re.findall(r"<script>(.*?)</script>", shown(miss(None)), re.DOTALL)
    done = subprocess.run(["node", "-e", _PAGE.replace("SCRIPT", script)], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [",descending, abcd", ",ascending, cbad", "descending,, dcba", "true"], (
        done.stderr
    )


def test_secrets_are_masked() -> None:
    token = "ghp_" + "a1B2" * 10
    one = miss(Screen.from_text(f"export GITHUB_TOKEN={token}", cursor=(3, 0)), id=token, reasons=(token,))
    assert token not in shown(one)


def test_a_mask_leaves_the_cursor_in_its_row() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabcd\n-----END RSA PRIVATE KEY-----\nProceed?"
    text = shown(miss(Screen.from_text(key, cursor=(8, 4))))
    assert "MIIE" not in text and 'Proceed?<span class="cursor"> </span>' in text


def test_a_page_of_nothing_is_a_page() -> None:
    for count in [0, 1]:
        right = miss(None, true_state=State.WAITING, true_kind=Kind.TEXT)
        text = shown(*[right] * count)
        assert "article" not in Reader(text).tags and f"{count} cases" in text, count
