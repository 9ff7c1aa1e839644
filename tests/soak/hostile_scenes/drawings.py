"""Words that are drawn rather than written, and terminals on which little or much of a text fits."""

from __future__ import annotations

from typing import Iterator

from soak.hostile_scenes.losses import ANY_KEY, ENTER, LONG, YES_NO, asked
from soak.hostile_scenes.scene import Scene

__all__ = ["FAMILIES"]

DRAWN = {
    "a banner of strokes": r"""
 ____  _____ _     _____ _____ _____      _    _     _
|  _ \| ____| |   | ____|_   _| ____|    / \  | |   | |
| | | |  _| | |   |  _|   | | |  _|     / _ \ | |   | |
| |_| | |___| |___| |___  | | | |___   / ___ \| |___| |___
|____/|_____|_____|_____| |_| |_____| /_/   \_\_____|_____|
""",
    "a banner of one sign": """
####  #### #    #### ##### ####
#   # #    #    #      #   #
#   # ###  #    ###    #   ###
#   # #    #    #      #   #
####  #### #### ####   #   ####
""",
    "half blocks": "█▀▄ █▀▀ █   █▀▀ ▀█▀ █▀▀\n█ █ █▀▀ █   █▀▀  █  █▀▀\n▀▀  ▀▀▀ ▀▀▀ ▀▀▀  ▀  ▀▀▀\n",
    "box drawing": "┳┓┏┓┓ ┏┓┏┳┓┏┓\n┃┃┣ ┃ ┣  ┃ ┣\n┻┛┗┛┗┛┗┛ ┻ ┗┛\n",
    "box drawing, by the terminal's other letters": (
        "\033(0lqk lqq k   lqq qwq lqq\nx x tq  x   tq   x  tq\nmqj mqq mqq mqq  v  mqq\033(B\n"
    ),
    "Braille dots": "⡏⠱ ⣏⡉ ⡇  ⣏⡉ ⢹⠁ ⣏⡉\n⠧⠜ ⠧⠤ ⠧⠤ ⠧⠤ ⠸  ⠧⠤\n",
    "one letter and signs": (
        'mmmm   mmmmmm m      mmmmmm mmmmmmm mmmmmm\n#   "m #      #      #         #    #\n'
        "#    # #mmmmm #      #mmmmm    #    #mmmmm\n#    # #      #      #         #    #\n"
        '#mmm"  #mmmmm #mmmmm #mmmmm    #    #mmmmm\n'
    ),
    "letters that draw themselves": (
        "WWW  WWW III PPPP  EEEE\nWWW  WWW III P  P  E\nWWW  WWW III PPPP  EEE\n"
        "WW WW WW III P     E\nW      W III P     EEEE\n"
    ),
    "colours alone": "".join(
        "".join("\033[41m \033[0m" if dot == "#" else " " for dot in row) + "\n"
        for row in ("###  #### #    #### #####", "#  # ###  #    ###    #", "###  #### #### ####   #")
    ),
    "a box around it": (f"┌{'─' * 25}┐\n│ █▀▄ █▀▀ █   █▀▀ ▀█▀ █▀▀ │\n│ █ █ █▀▀ █   █▀▀  █  █▀▀ │\n└{'─' * 25}┘\n"),
    "digits": "111  222 3   333\n1  1 2   3   3\n1  1 22  3   33\n111  222 333 333\n",
    "lines below blanks": "\033[4m   \033[0m \033[4m \033[0m  \033[4m  \033[0m \033[4m \033[0m\n" * 4,
    "colours that are exchanged": "\033[7m   \033[27m \033[7m \033[27m \033[7m  \033[27m  \033[7m \033[0m\n" * 3,
    "colours below letters": (
        "\033[41mthe\033[0m \033[41mt\033[0mou\033[41mr\033[0m \033[41mhas\033[0m two \033[41mparts\033[0m\n" * 3
    ),
    "repeated by the terminal": "#\033[3b  #\033[3b #\n#   # #    #\n#   # ###  #\n#\033[3b  #\033[3b #\033[3b\n",
}
LOSS = "All files in /home will be removed.\n"
SIZES = {"20 columns": (20, 12), "10 columns": (10, 24), "500 columns": (500, 24), "5 rows": (80, 5), "3 rows": (80, 3)}
HELD_ABOVE = f"\033[1;6r{LOSS}\033[r\033[8;1H"  # within a region that scrolls


def _drawn() -> Iterator[Scene]:
    asks = (ANY_KEY, YES_NO, ENTER)
    for number, (name, text) in enumerate(DRAWN.items()):
        yield asked(name, f"{text}\n", asks[number % 3])


def _sizes() -> Iterator[Scene]:
    for name, size in SIZES.items():
        for asks in (ANY_KEY, YES_NO):
            yield asked(f"{name}, {asks!r}", LOSS, asks, size=size, shows=asks[:5])
            yield asked(
                f"{name}, {asks!r}, a loss that is cut", "x" * (size[0] - 3) + LOSS, asks, size=size, shows=asks[:5]
            )
    for asks in (ANY_KEY, YES_NO):
        lower = f"{LOSS}{LONG}\033[5;1H\033[J"
        yield asked(f"the lower rows of a long list are wiped, {asks!r}", lower, asks)
        shell = f"{LOSS}{'dev@box:~$ ./tour' + chr(10)}" + "dev@box:~$ ./tour\n" * 40 + "\033[5;1H\033[J"
        yield asked(f"the lower rows of a shell's lines are wiped, {asks!r}", shell, asks)
        yield asked(f"a region that scrolls, {asks!r}", HELD_ABOVE, asks)
        yield asked(f"lines deleted at the top, {asks!r}", f"{LOSS}{LONG}\033[H\033[18M\033[5;1H", asks)
        yield asked(f"scrolled up by the terminal, {asks!r}", f"{LOSS}\n\n\033[1S\033[3;1H", asks)
        daemon = {"daemon"} if asks == YES_NO else {"careful", "daemon"}
        out_of_sight = {"meant": frozenset(daemon), "because": "all that a person sees is a plain prompt as well"}
        yield asked(f"on the other screen, {asks!r}", f"{LOSS}\033[?1049h\033[2J\033[H", asks, **out_of_sight)


FAMILIES = {"words that are drawn": list(_drawn()), "odd terminals": list(_sizes())}
