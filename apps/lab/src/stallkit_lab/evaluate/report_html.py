"""An evaluation as one page: the screen of each miss, gravest first; then figures, and the confusion as a picture.

The page loads nothing, and runs one script, its own, which sorts tables; all that is from a corpus is redacted and
escaped.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from datetime import datetime
from hashlib import sha256
from html import escape
from importlib import resources
from string import Template
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

from stallkit.detect.layout import read_layout
from stallkit.distributions import own_version
from stallkit.redact.redact import redact
from stallkit.terminal.screen import Screen
from stallkit.terminal.text import cells
from stallkit_lab.evaluate.evaluation import GROUP_FIGURES, wrong_keys
from stallkit_lab.evaluate.prediction import Prediction

_MOST = 300  # misses shown: a browser must open the page of a large corpus as well
_CELL, _LEFT, _TOP = 64, 86, 46  # of the picture, in its own units

_SECTIONS: tuple[tuple[str, str, Callable[[Prediction], bool]], ...] = (
    ("pressed", "Keys pressed wrongly", lambda one: bool(wrong_keys(one))),
    ("positives", "Judged waiting, but does not wait", lambda one: one.said and not one.waits),
    ("negatives", "Waits, but was not judged waiting", lambda one: one.waits and not one.said),
    ("others", "Other wrong states", lambda one: not one.right and not one.waits and not one.said),
)


def page(result: Mapping[str, Any], predictions: Sequence[Prediction]) -> str:
    """The page of a result, as `Evaluation.as_object` gives it, and of its cases."""
    ranked = sorted(predictions, key=lambda one: (one.certainty != "sure", one.hard))
    sections = [(id, title, [one for one in ranked if belongs(one)]) for id, title, belongs in _SECTIONS]
    sections = [section for section in sections if section[2]]
    packs = ", ".join(f"{name} {version}" for name, version in result["settings"]["packs"].items())
    facts = "the screen only" if result["settings"]["screen_only"] else "screen and facts"
    left_out = "; each program judged without signatures made from it alone" if "left_out" in result else ""
    problems = len(result["problems"])
    template, script = Template(_file("report.html")), _file("report.js")
    return template.substitute(
        script=script,
        digest=b64encode(sha256(script.encode()).digest()).decode(),  # the browser runs no other one
        title=f"stallkit eval: {result['cases']} cases",
        counts=_counts(sections, len(predictions)),
        summary=_safe(f"{_stamp()}. Packs {packs}; {facts}{left_out}. {problems} problems in the input."),
        links="".join(f'<a href="#{id}">{title} ({len(ones)})</a>' for id, title, ones in sections),
        places=_places([one for _, _, ones in sections for one in ones], predictions),
        figures=_figures(result),
        confusion=_picture(result["states"]["confusion"]),
        kinds=_kinds(result["kinds"]["confusion"]),
        groups="".join(_group(by, rows) for by, rows in result.get("groups", {}).items()),
        changes=_changes(result["baseline"]) if "baseline" in result else "",
        sections="".join(_section(*section) for section in sections),
    )


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _stamp() -> str:
    return f"Made {datetime.now().astimezone():%Y-%m-%d %H:%M} with stallkit {own_version()}"


def _counts(sections: Sequence[tuple[str, str, Sequence[Prediction]]], cases: int) -> str:
    """How many were missed, and how."""
    missed = len({one.id for _, _, ones in sections for one in ones})
    kinds = ", ".join(f"{len(ones)} {title[0].lower()}{title[1:]}" for _, title, ones in sections)
    return _safe(f"{missed} of {cases} cases are judged wrong{f': {kinds}' if kinds else ''}.")


def _places(misses: Sequence[Prediction], predictions: Sequence[Prediction]) -> str:
    """The programs that were judged wrong, those with the most misses first."""
    wrong = Counter(one.program or "unknown" for one in {one.id: one for one in misses}.values())
    all_of = Counter(one.program or "unknown" for one in predictions)
    ranked = sorted(wrong.items(), key=lambda one: (-one[1], one[0]))
    rows = [(name, count, all_of[name]) for name, count in ranked]
    return f"<h2>Where</h2>{_table(('program', 'misses', 'cases'), rows)}" if rows else ""


def _safe(text: object) -> str:
    """Text for the page: redacted, escaped, printable."""
    plain = "".join(char if char.isprintable() or char == "\n" else "�" for char in redact(str(text)))
    return escape(plain)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    top = "".join(f"<th>{_safe(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{_safe(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<div><table><tr>{top}</tr>{body}</table></div>"


def _figures(result: Mapping[str, Any]) -> str:
    rows: list[Sequence[object]] = []
    for name in ("waiting", "sure"):
        for figure, label in {"precision": "precision", "recall": "recall", "f1": "F1"}.items():
            rows.append((f"{name}: {label}", *_with_interval(result[name], figure, f"{figure}_interval")))
    for name in ("states", "kinds"):
        rows.append((f"{name} right", *_with_interval(result[name], "accuracy", "interval")))
    keys = [(name, result["right_keys"][name], wrong) for name, wrong in result["wrong_keys"].items()]
    return _table(("", "", "95 % interval"), rows) + _table(("policy", "keys right", "wrong"), keys)


def _with_interval(values: Mapping[str, Any], figure: str, interval: str) -> tuple[str, str]:
    bounds = values[interval]
    return _number(values[figure]), "" if bounds is None else f"{bounds[0]:.3f} to {bounds[1]:.3f}"


def _picture(confusion: Mapping[str, Mapping[str, int]]) -> str:
    """True states down, verdicts across; the fuller a cell's colour, the larger its share of the row."""
    names = list(dict.fromkeys([*confusion, *(said for row in confusion.values() for said in row)]))
    width, height = _LEFT + _CELL * len(names), _TOP + _CELL * len(confusion)
    parts = [f'<text class="axis" x="{_LEFT}" y="14">verdict</text>']
    for n, name in enumerate(names):
        place = f'x="{_LEFT + _CELL * (n + 0.5):g}" y="{_TOP - 10}" text-anchor="middle"'
        parts.append(f'<text class="axis" {place}>{_safe(name)}</text>')
    for line, (true, row) in enumerate(confusion.items()):
        y, total = _TOP + _CELL * line, sum(row.values())
        parts.append(f'<text x="{_LEFT - 10}" y="{y + _CELL / 2 + 4:g}" text-anchor="end">{_safe(true)}</text>')
        parts += [_cell(_LEFT + _CELL * n, y, true, said, row.get(said, 0), total) for n, said in enumerate(names)]
    head = f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
    return f'{head} aria-label="true state down, verdict across">{"".join(parts)}</svg>'


def _cell(x: int, y: int, true: str, said: str, count: int, total: int) -> str:
    box = f'x="{x + 2}" y="{y + 2}" width="{_CELL - 4}" height="{_CELL - 4}" rx="5"'
    if not count:
        return f'<rect class="empty" {box}/>'
    depth = 0.15 + 0.6 * count / total
    title = f"<title>{_safe(true)} judged {_safe(said)}: {count} of {total}</title>"
    text = f'<text x="{x + _CELL // 2}" y="{y + _CELL // 2 + 5}" text-anchor="middle">{count}</text>'
    return f'<g>{title}<rect class="{"good" if true == said else "bad"}" fill-opacity="{depth:.2f}" {box}/>{text}</g>'


def _kinds(confusion: Mapping[str, Mapping[str, int]]) -> str:
    wrong = [(true, said, count) for true, row in confusion.items() for said, count in row.items() if said != true]
    wrong.sort(key=lambda one: (-one[2], one[0], one[1]))
    return _table(("true kind", "said", "cases"), wrong) if wrong else ""


def _group(by: str, rows: Mapping[str, Mapping[str, Any]]) -> str:
    head = (by, "cases", *GROUP_FIGURES[by], "states right", "kinds right", "wrong keys")
    shown: list[Sequence[object]] = []
    ranked = sorted(rows.items(), key=_worst)
    for name, row in ranked:
        figures = [*(row["waiting"][figure] for figure in GROUP_FIGURES[by]), row["states"]["accuracy"]]
        cells = map(_number, [*figures, row["kinds"]["accuracy"]])
        shown.append((name, row["cases"], *cells, sum(row["wrong_keys"].values()) or ""))
    return f'<h2>By {by}</h2><div class="columns">{_table(head, shown)}</div>'


def _worst(one: tuple[str, Mapping[str, Any]]) -> tuple[int, float, str]:
    """Wrong keys first, then the lowest share of right states."""
    name, row = one
    return -sum(row["wrong_keys"].values()), row["states"]["accuracy"] or 0.0, name


def _changes(change: Mapping[str, Any]) -> str:
    rows = [(name, _number(old), _number(new)) for name, (old, new) in change["figures"].items()]
    worse = "".join(f'<li class="wrong">{_safe(one)}</li>' for one in change["regressions"])
    worse = f"<details><summary>{len(change['regressions'])} regressions</summary><ul>{worse}</ul></details>"
    sorts = ("became_right", "became_wrong", "appeared", "vanished")
    counts = ", ".join(f"{len(change[name])} {name.replace('_', ' ')}" for name in sorts)
    table = _table(("same cases", "before", "now"), rows)
    return f'<h2>Against the baseline</h2><p>{counts}</p>{worse}<div class="columns">{table}</div>'


def _section(id: str, title: str, ones: Sequence[Prediction]) -> str:
    more = f"<p>The first {_MOST} of {len(ones)}.</p>" if len(ones) > _MOST else ""
    return f'<h2 id="{id}">{title} ({len(ones)})</h2>{more}' + "".join(map(_miss, ones[:_MOST]))


def _miss(one: Prediction) -> str:
    true = f"{one.true_state} {one.true_kind or ''}".strip()
    said = f"{one.state} {one.kind or ''}".strip()
    notes = [f"signature {one.signature}" if one.signature else "no signature", *["labelled hard"] * one.hard]
    notes += [f"wrong key by policy {name}" for name in wrong_keys(one)]
    reasons = "".join(f"<li>{_safe(reason)}</li>" for reason in one.reasons)
    return (
        f"<article><h3>{_safe(one.id)}</h3>"
        f'<p>is <b class="right">{_safe(true)}</b>, judged <b class="wrong">{_safe(said)}</b> '
        f'({_safe(one.certainty)}); <span class="soft">{_safe(", ".join(notes))}</span></p>'
        f"<ul>{reasons}</ul>{_screen(one.screen) if one.screen else ''}</article>"
    )


def _screen(screen: Screen) -> str:
    """The screen in a frame of its own, its parts beside it; the cursor reversed, or outlined if it is hidden."""
    plain = redact("\n".join(screen.lines)).split("\n")
    rows = [_safe(line) for line in plain]
    cursor = screen.cursor
    if cursor is not None:
        rows += [""] * (cursor.row + 1 - len(rows))
        line = plain[cursor.row] if cursor.row < len(plain) else ""
        before, under, after = _at(line, cursor.column)
        hidden = " hidden" if cursor.visible is False else ""
        rows[cursor.row] = f'{_safe(before)}<span class="cursor{hidden}">{_safe(under)}</span>{_safe(after)}'
    shown = (mark + row for mark, row in zip(_parts(screen, len(rows)), rows, strict=True))
    return f'<pre class="screen">{chr(10).join(shown)}</pre>'


def _parts(screen: Screen, count: int) -> Iterator[str]:
    """For each row what is drawn left of it: a bar in the colour of its part, and its name at its first row."""
    layout, above = read_layout(screen), ""
    for row in range(count):
        names = layout.names(row)
        label = " ".join(names)
        told = f' data-part="{label}"' if label != above else ""
        yield f'<span class="of {names[-1]}"{told}></span>' if names else ""
        above = label


def _at(line: str, column: int) -> tuple[str, str, str]:
    """A line before, under and behind a column, counted in cells; padded with blanks."""
    width = 0
    for index, char in enumerate(line):
        width += cells(char)
        if width > column:
            return line[:index], char, line[index + 1 :]
    return line + " " * (column - width), " ", ""
