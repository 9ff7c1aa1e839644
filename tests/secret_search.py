"""Which planted secrets were written anywhere, and which ordinary lines the redactor changes."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Iterable, Iterator, Sequence

from secret_kinds import Planted
from secret_sinks import SINKS

from stallkit.redact.redact import redact
from stallkit.terminal.text import strip

ROOT = Path(__file__).parent.parent
_BLANKS = re.compile(r"(?<=\d)[ -](?=\d)")  # inside a number
HALF = 12  # characters of a secret whose halves are looked for as well


def found_in(secret: str, written: str) -> bool:
    """Whether a secret, or half of it, stands in what was written (as `squeezed` gives it)."""
    plain = squeezed(secret)
    if len(plain) <= 8:  # a short one may be a part of a number, a time or an id
        short = re.escape(_BLANKS.sub("", plain))
        return re.search(rf"(?<![A-Za-z0-9_.+]){short}(?![A-Za-z0-9_+])", _BLANKS.sub("", written)) is not None
    half = len(plain) // 2
    return plain in written or (len(plain) >= HALF and (plain[:half] in written or plain[-half:] in written))


def squeezed(text: str) -> str:
    """A text without what a screen puts between the parts of a word."""
    return re.sub(r"[\s│|\\]+", "", text)


def written_in(folder: Path) -> str:
    """All that stands in a folder's files, JSON and HTML undone; a short secret keeps the blanks around it."""
    content = "\n".join(
        path.read_bytes().decode("utf-8", "replace") for path in sorted(folder.rglob("*")) if path.is_file()
    )
    content = re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), content).replace("\\n", "\n")
    for entity, char in (("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#x27;", "'")):
        content = content.replace(entity, char)
    return strip(content.replace('\\"', '"'))


def count(texts: Sequence[Planted]) -> dict[str, list[tuple[Planted, str]]]:
    """The secrets that each sink let through."""
    leaks: dict[str, list[tuple[Planted, str]]] = {}
    for name, sink in SINKS.items():
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "in"
            folder.mkdir(mode=0o700)
            sink(folder, texts)
            spaced = written_in(folder)
        whole = squeezed(spaced)
        leaks[name] = [
            (one, secret)
            for one in texts
            for secret in one.secrets
            if found_in(secret, spaced if len(squeezed(secret)) <= 8 else whole)
        ]
    return leaks


def ordinary(corpus: Path | None) -> Iterator[str]:
    """Every different screen of the corpora and of the packs."""
    seen: set[str] = set()
    files = [*(ROOT / "tests/corpus").glob("*.jsonl"), *(corpus.glob("*.jsonl") if corpus else ())]
    lines = (json.loads(line) for path in sorted(files) for line in path.read_text().splitlines())
    screens = (line["screen"] for line in lines if line.get("screen"))
    texts = ("\n".join(one) if isinstance(one, list) else one for one in screens)
    packs = (path.read_text() for path in sorted(ROOT.glob("plugins/*/src/*/screens/**/*.txt")))
    for text in (*texts, *packs):
        if text not in seen:
            seen.add(text)
            yield text


def changed(texts: Iterable[str]) -> tuple[int, list[tuple[str, str]]]:
    """How many lines that are not blank there are, and which change."""
    number, found = 0, []
    for text in texts:
        before, after = text.split("\n"), redact(text).split("\n")
        number += sum(not line.isspace() and line != "" for line in before)
        found += [(was, now) for was, now in zip(before, after, strict=True) if was != now]
    return number, found
