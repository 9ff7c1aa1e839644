"""A flame graph as a still picture: `python benchmarks/flame.py SAMPLES PICTURE.svg [TITLE]`.

SAMPLES is what py-spy wrote of a running process: ``py-spy record --gil -F -p PID -d 20 -f raw -o SAMPLES``.  The
widest row is all of them; what a function calls stands below it.  Functions of stallkit are coloured and named with
their module; what has less than half a percent is left out.
"""

from __future__ import annotations

import argparse
import re
from html import escape
from pathlib import Path
from typing import Iterable, Iterator

from attrs import define, field

WIDTH, ROW, LETTER = 1_200, 18, 6.6  # pixels: of the picture, of a row, of a letter
LEAST = 0.005  # of all samples
_FRAME = re.compile(r"(?P<name>[^;()]+?) \((?:(?:.*/)?stallkit/(?P<module>[\w/]+)|[^)]*)(?:\.py)?(?::\d+)?\)")


@define
class Node:
    """A function as it was called from one place: how many samples, and what it called."""

    samples: int = 0
    below: dict[tuple[str, bool], Node] = field(factory=dict)  # by name, and whether it is of stallkit

    def add(self, frames: Iterable[tuple[str, bool]], count: int) -> None:
        self.samples += count
        node = self
        for frame in frames:
            node = node.below.setdefault(frame, Node())
            node.samples += count


def frames_of(stack: str) -> Iterator[tuple[str, bool]]:
    """The names of a stack's functions, the outermost first; a run of others between two of stallkit is its last."""
    found = []
    for one in stack.split(";"):
        frame = _FRAME.fullmatch(one)
        if frame is None:
            continue
        if frame["module"]:
            found.append((f"{frame['module'].rpartition('/')[2]}.{frame['name'].rpartition('.')[2]}", True))
        elif found and not found[-1][1]:
            found[-1] = (frame["name"], False)
        else:
            found.append((frame["name"], False))
    yield from found


def drawn(node: Node, left: float, depth: int, scale: float, least: float) -> Iterator[tuple[int, str]]:
    """The rectangles of all below a node, each with its row."""
    for (name, ours), one in sorted(node.below.items(), key=lambda item: -item[1].samples):
        if one.samples < least:
            continue
        width, top = one.samples * scale, depth * ROW
        fits = int(width / LETTER) - 1
        text = name if len(name) <= fits else f"{name[: fits - 1]}…" if fits > 3 else ""
        share = f"{escape(name)}: {one.samples * scale / WIDTH:.1%}"
        yield (
            depth,
            f'<g><title>{share}</title><rect x="{left:.1f}" y="{top}" width="{max(width - 0.5, 0.5):.1f}" '
            f'height="{ROW - 1}" fill="{"#f2b179" if ours else "#d9d9d9"}"/>'
            f'<text x="{left + 3:.1f}" y="{top + 13}">{escape(text)}</text></g>',
        )
        yield from drawn(one, left, depth + 1, scale, least)
        left += width


def picture(root: Node, title: str) -> str:
    parts = list(drawn(root, 0.0, 2, WIDTH / max(1, root.samples), LEAST * root.samples))
    rows = max((depth for depth, _ in parts), default=1) + 1
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {rows * ROW}" font-family="monospace" '
        f'font-size="11"><rect width="100%" height="100%" fill="#ffffff"/>'
        f'<text x="3" y="{ROW + 4}" font-size="14">{escape(title)}: {root.samples} samples</text>'
    )
    return "\n".join([head, *(part for _, part in parts), "</svg>\n"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("samples", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("title", nargs="?", default="Where the time goes")
    options = parser.parse_args()
    root = Node()
    for line in options.samples.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        root.add(frames_of(stack), int(count))
    options.picture.write_text(picture(root, options.title))


if __name__ == "__main__":
    main()
