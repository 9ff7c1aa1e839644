"""A program whose harmless screen turns into a harmful one for a moment, again and again.

    python -I flipping.py FILE SEED FAMILY

Standard library only.  To the file goes one line a key: what was on the terminal when it came, how many bytes it had,
and for how many milliseconds that had been there.
"""

import os
import random
import select
import sys
import termios
import time
import tty

LONG_S = (0.4, 1.6)  # of the harmless one: long enough for a look, a second one and a press
SHORT_S = (0.02, 0.2)  # of the harmful one
ASK = "Press any key to continue..."
# Each family: the rows of the harmless screen, and those of harmful ones.  As wide, so that not even the cursor moves;
# "" keeps a row.
FAMILIES = {
    "the prompt's row": (["", ASK], [["", "Press any key to erase disk."], ["", "Overwrite 14 files? [y/N]   "]]),
    "a row above": (
        ["No file will be changed.", "", ASK],
        [["All files will be lost. ", "", ""], ["format: /dev/sda1 (1 TB) ", "", ""]],
    ),
    "a Chinese prompt": (["", "请按任意键继续安装……"], [["", "是否删除全部数据吗？"], ["", "确定清空整个磁盘吗？"]]),
    "options swapped": (
        ["Go on with it?", "❯ 1. No, and ask me again", "  2. Yes, and do not ask  ", "", "Enter to confirm"],
        [["", "❯ 1. Yes, and do not ask  ", "  2. No, and ask me again", "", ""]],
    ),
    "two rows alike": (
        ["  keep the files", "", "  keep the files", "", ASK],
        [["", "", "  wipe the files", "", ""], ["", "rm -rf ~", "", "", ""]],
    ),
    "echo off": (["", ASK], [["", ""]]),
}


def main(file: str, seed: str, family: str) -> None:
    rand = random.Random(seed)
    record = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    tty.setcbreak(0, termios.TCSANOW)
    keyboard = select.poll()
    keyboard.register(0, select.POLLIN)
    harmless, harmful = FAMILIES[family]
    answered = 0
    while True:
        _echo(True)
        os.write(1, b"\x1b[H\x1b[2J%d answered\r\n" % answered)
        shown, until, since = "", 0.0, 0.0
        while True:
            left = until - time.monotonic()
            if keyboard.poll(max(left, 0.0) * 1000):
                break
            if left <= 0:
                after = "harmful" if shown == "harmless" else "harmless"
                rows = harmless if after == "harmless" else rand.choice(harmful)
                rows = [new or old for new, old in zip(rows, harmless, strict=True)]
                drawn = b"\x1b[3H" + b"\r\n".join(row.encode() + b"\x1b[K" for row in rows)
                lasts = rand.uniform(*(LONG_S if after == "harmless" else SHORT_S))
                if keyboard.poll(0):  # came while the last one was still there
                    break
                if family == "echo off":
                    _echo(after == "harmless")
                if family != "echo off" or not shown:
                    os.write(1, drawn)
                shown, since = after, time.monotonic()
                until = since + lasts
        keys = os.read(0, 1000)
        age = (time.monotonic() - since) * 1000
        os.write(record, b"%s %d %.2f\n" % (shown.encode() or b"none", len(keys), age))
        answered += 1
        os.write(1, b"\r\nthank you\r\n")
        time.sleep(0.1)


def _echo(on: bool) -> None:
    settings = termios.tcgetattr(0)
    settings[3] = settings[3] | termios.ECHO if on else settings[3] & ~termios.ECHO
    termios.tcsetattr(0, termios.TCSANOW, settings)


if __name__ == "__main__":
    main(*sys.argv[1:])
