"""The pictures of docs/pictures, from real runs: programs in a private tmux server that wait and work, and stallkit.

What a command shows in a second tmux server is captured with its colours and drawn as SVG, without fonts from outside.
The pages of ``eval --html`` and ``serve --page`` are taken by Chromium.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Sequence

from attrs import frozen
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from stallkit.packs.screenfile import read_screen

__all__ = ["PICTURES", "Picture", "Stage", "drawn", "on_a_phone", "photographed", "stage", "take_all"]

WAIT_S = 60
_ELSEWHERE = re.compile(r"@font-face \{\{.*?\}\}\s*|<!--.*?-->\s*", re.DOTALL)
_FORMAT = _ELSEWHERE.sub("", CONSOLE_SVG_FORMAT).replace("Fira Code", "ui-monospace, Menlo, Consolas")

# Real programs, and what each shows once it is where it is wanted.
_SESSIONS = {
    "build": ("while :; do echo compiling module $((i=i+1)) of 900; sleep 0.2; done", "compiling"),
    "deploy": (f"""{sys.executable} -c 'input("Deploy to production? [y/N] ")'""", "production"),
    "fetch": (f"""{sys.executable} -c 'import getpass; getpass.getpass("Password for ada: ")'""", "Password"),
    "setup": ("""bash -c 'read -n1 -s -r -p "Press any key to continue "; sleep 600'""", "any key"),
    "notes": ("cat > notes.txt", ""),
}


# For the page on a phone: an agent's dialog as it was captured, what draws it, and what programs may answer.
_CLAUDE = Path(__file__).parents[2] / "plugins" / "claude_code" / "src" / "stallkit_claude_code"
_DIALOG = _CLAUDE / "screens" / "tool_permission" / "hit-bash-narrow.txt"
_DRAWS = """import sys, tty; tty.setraw(0); rows = open(sys.argv[1]).read().replace("\\n", "\\r\\n")
print("\\x1b[?25l\\x1b[2J\\x1b[H" + rows, end="\\x1b[11;2H", flush=True); sys.stdin.read(1)"""
_NIGHT = """profile = "careful"

[[rule]]
do = "press"
signature = "claude_code:*"
option = "Yes"
session = "tmux:*"
"""

_PROMPT = r"\n\$\s*\Z"


@frozen
class Picture:
    """One command, patterns of what it shows when it is ready, its size, and the rows of the picture (0: all)."""

    name: str
    command: str
    ready: tuple[str, ...]
    size: tuple[int, int] = (96, 24)
    rows: int = 0


PICTURES = (
    Picture(
        "watch",
        "stallkit watch --all --policy observe",
        (r"deploy +waiting", r"fetch +waiting", r"setup +waiting", "fetch.* escalation|escalation.*fetch"),
        rows=18,
    ),
    Picture(
        "explain",
        "stallkit explain tmux:deploy | grep -v ': no ' | head -n 10",
        ("Deploy to production", _PROMPT),
        rows=20,
    ),
    Picture("report", "stallkit report --since 1h", ("deploy", _PROMPT), rows=16),
)


class Stage:
    """Two private tmux servers in a folder: one with the programs, one in which the pictures are taken."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        own = {"HOME": str(folder), "TMUX_TMPDIR": str(folder), "STALLKIT_STATE_DIR": str(folder / "state")}
        plain = {name: value for name, value in os.environ.items() if name not in ("TMUX", "STALLKIT_TMUX", "NO_COLOR")}
        self.environment = {**plain, **own, "PATH": path, "LC_ALL": "C.UTF-8", "PS1": "$ ", "TERM": "xterm-256color"}

    def build(self) -> None:
        """Start every program, and wait until each shows what it is there for."""
        (self._folder / "tmux.conf").write_text("set -g default-terminal tmux-256color\n")
        for name, (command, shown) in _SESSIONS.items():
            self.start(name, command, shown)

    def start(self, name: str, command: str, shown: str) -> None:
        """Start one more program, and wait until it shows this."""
        self._tmux("new", "-d", "-s", name, "-x", "80", "-y", "24", "-c", str(self._folder), command)
        self.until("default", name, (shown,))

    def take(self, picture: Picture) -> str:
        """Run the command of a picture in a terminal of its size, and draw what it shows."""
        columns, rows = map(str, picture.size)
        shell = ["env", "-i", *(f"{name}={value}" for name, value in self.environment.items()), "bash", "--norc"]
        size = ("-x", columns, "-y", rows, "-c", str(self._folder))
        self._tmux("new", "-d", "-s", picture.name, *size, shlex.join(shell), server="pictures")
        self.until("pictures", picture.name, (r"\$",))
        self._tmux("send-keys", "-t", f"={picture.name}:", f"clear; {picture.command}", "Enter", server="pictures")
        shown = self.until("pictures", picture.name, picture.ready).split("\n")
        self._tmux("send-keys", "-t", f"={picture.name}:", "C-c", server="pictures")
        while shown and not _plain(shown[-1]).strip(" $"):
            shown.pop()
        return drawn(shown[: picture.rows or None], picture.command, picture.size[0], picture.name)

    def until(self, server: str, session: str, patterns: Sequence[str], patience_s: float = WAIT_S) -> str:
        """What a session shows, with its colours, once it has all of these.  Raises TimeoutError."""
        ends, shown = time.monotonic() + patience_s, ""
        while time.monotonic() < ends:
            shown = self._tmux("capture-pane", "-e", "-p", "-t", f"={session}:", server=server)
            if all(re.search(pattern, _plain(shown)) for pattern in patterns):
                return shown
            time.sleep(0.1)
        raise TimeoutError(f"{session} did not show {', '.join(patterns)} in {patience_s:g} s, but:\n{shown}")

    def end(self) -> None:
        """End both servers and all in them."""
        for server in ("default", "pictures"):
            command = ["tmux", "-L", server, "kill-server"]
            subprocess.run(command, env=self.environment, check=False, capture_output=True)

    def _tmux(self, *arguments: str, server: str = "default") -> str:
        command = ["tmux", "-L", server, "-f", str(self._folder / "tmux.conf"), *arguments]
        return subprocess.run(command, env=self.environment, check=True, capture_output=True, text=True).stdout


@contextmanager
def stage() -> Iterator[Stage]:
    """A stage with its programs, in a folder that goes with it."""
    with tempfile.TemporaryDirectory(prefix="pictures-", ignore_cleanup_errors=True) as folder:
        made = Stage(Path(folder))
        try:
            made.build()
            yield made
        finally:
            made.end()


def drawn(rows: Sequence[str], title: str, columns: int, name: str) -> str:
    """Rows with their colours as a picture that needs nothing from elsewhere."""
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for row in (*rows, ""):  # the last row of such a picture is cut
        console.print(Text.from_ansi(row), no_wrap=True, crop=True)
    return console.export_svg(title=title, code_format=_FORMAT, unique_id=name)


def _plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;:]*m|\x1b\(B|[\x0e\x0f]", "", text)


def photographed(page: Path, size: tuple[int, int], into: Path) -> None:
    """Take the top of a page, as Chromium draws it in a window of that size.  Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder:
        how = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}"]
        window = f"--window-size={size[0]},{size[1]}"
        command = ["chromium", *how, window, f"--screenshot={into}", page.absolute().as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=WAIT_S)


def on_a_phone(made: Stage, folder: Path, into: Path) -> None:
    """Take the page of ``serve --page`` at a phone's size; the agent's dialog in it is a captured one."""
    from playwright.sync_api import expect, sync_playwright  # here: only what takes pictures needs it

    (folder / "night.toml").write_text(_NIGHT)
    dialog = read_screen(_DIALOG)
    (folder / "screen").write_text(dialog.screen.text.rstrip("\n"))
    (folder / "claude").symlink_to(Path(sys.executable).resolve())
    made.start("api", f"{folder}/claude -c '{_DRAWS}' {folder}/screen", "Tab to amend")
    said, running = folder / "said", []
    with said.open("w") as out:
        for words in ("watch --all --policy observe", "serve --page --policy night.toml"):
            command = [sys.executable, "-m", "stallkit", *words.split()]
            running.append(subprocess.Popen(command, cwd=folder, env=made.environment, stdout=out, stderr=out))
    try:
        ends = time.monotonic() + WAIT_S
        while not (found := re.search(r"^page: (\S+)", said.read_text(), re.MULTILINE)):
            if time.monotonic() > ends:
                raise TimeoutError(f"no page: {said.read_text()}")
            time.sleep(0.1)
        with sync_playwright() as started:
            browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
            page.goto(found[1])
            expect(page.locator("article:not(.over)")).to_have_count(4, timeout=WAIT_S * 1000)
            expect(page.locator("article.over")).to_have_count(0, timeout=WAIT_S * 1000)  # one was filed half drawn
            expect(page.locator("body.moving")).to_have_count(0)
            page.screenshot(path=into)
            browser.close()
    finally:
        for process in running:
            process.terminate()
            process.wait(WAIT_S)


def take_all(into: Path, corpora: Sequence[Path]) -> None:
    """Take every picture anew; the evaluation is of these corpora."""
    into.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "eval.html"
        evaluate = [sys.executable, "-m", "stallkit", "eval", *map(str, corpora), "--html", str(page)]
        subprocess.run(evaluate, check=True, stdout=subprocess.DEVNULL)
        photographed(page, (680, 520), into / "eval.png")
    with stage() as made:
        for picture in PICTURES:
            (into / f"{picture.name}.svg").write_text(made.take(picture), encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            on_a_phone(made, Path(folder), into / "phone.png")
