"""An agent's composer as a program: each text that it gets with Enter is one line in a file.

Arguments: the file, a draft that stands in the composer, and whether it takes a paste as one: ``pastes``.
"""

import codecs
import os
import sys
import tty
from pathlib import Path


def main() -> None:
    file, text = Path(sys.argv[1]), sys.argv[2]
    decode = codecs.getincrementaldecoder("utf-8")().decode
    lines: list[str] = []
    tty.setraw(0)
    while True:
        rows = [line[at : at + 30] for line in text.split("\n") for at in range(0, max(len(line), 1), 30)]
        drawn = "\r\n".join(["agent", *lines[-3:], "-" * 40, "> " + "\r\n  ".join(rows), "-" * 40, "  ready"])
        at = len(lines[-3:]) + 2 + len(rows), 3 + len(rows[-1])
        os.write(1, f"\x1b[2J\x1b[H{drawn}\x1b[{at[0]};{at[1]}H".encode())
        taken = decode(os.read(0, 4096))
        if sys.argv[3:] == ["pastes"] and taken.startswith("\x1b[200~"):
            text += taken[6:-6].replace("\r", "\n")
            continue
        for char in taken:
            if char != "\r":
                text += char if char >= " " else "^"
            else:
                with file.open("a", encoding="utf-8") as heard:
                    heard.write(text.replace("\n", "|") + "\n")
                lines.append(f"* {text[:20]}")
                text = ""


if __name__ == "__main__":
    main()
