"""The files of a proxy are all as before or all as wanted, wherever an edit is killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from stallkit_operator.sandbox.remedy import RemedyFiles

# Ends at the nth call that changes something on the disk, before it is made.
KILLED = """
import os, sys
from pathlib import Path
from stallkit_operator.sandbox.remedy import RemedyFiles
left, folder = int(sys.argv[1]), Path(sys.argv[2])
def hook(event, arguments):
    global left
    written = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_CREAT)
    if written or event in ("os.rename", "os.remove", "os.truncate"):
        left -= 1
        if left < 0:
            os._exit(9)
files = RemedyFiles((folder / "rendered", folder / "source"))
sys.addaudithook(hook)
files.replace({files.paths[0]: "rendered new", files.paths[1]: "source new"})
if sys.argv[3] == "back":
    files.put_back()
files.forget()
"""


def state(folder: Path) -> tuple[str | None, ...]:
    return tuple((folder / name).read_text() if (folder / name).exists() else None for name in ("rendered", "source"))


@pytest.mark.parametrize("end", ["forward", "back"])
@pytest.mark.parametrize("before", [("rendered old", "source old"), (None, None), ("rendered old", None)])
def test_an_edit_that_is_killed_at_any_call_leaves_one_of_two_states(
    tmp_path: Path, before: tuple[str | None, ...], end: str
) -> None:
    seen, number, code = set(), 0, 9
    while code == 9:
        folder = tmp_path / f"{number}"
        folder.mkdir()
        for name, text in zip(("rendered", "source"), before, strict=True):
            if text is not None:
                (folder / name).write_text(text)
        code = subprocess.run([sys.executable, "-c", KILLED, str(number), str(folder), end], check=False).returncode
        files = RemedyFiles((folder / "rendered", folder / "source"))
        if files.cut_off:
            files.put_back()
            files.forget()
        seen.add(state(folder))
        assert state(folder) in (before, ("rendered new", "source new"))
        number += 1
    assert code == 0 and number > 8
    assert seen == ({before} if end == "back" else {before, ("rendered new", "source new")})


def test_mode_and_content_stay(tmp_path: Path) -> None:
    path = tmp_path / "source"
    path.write_text("old")
    path.chmod(0o640)
    files = RemedyFiles((path,))
    files.replace({path: "new"})
    assert (path.read_text(), path.stat().st_mode & 0o777, files.cut_off) == ("new", 0o640, True)
    files.put_back()
    files.forget()
    assert (path.read_text(), path.stat().st_mode & 0o777, files.cut_off) == ("old", 0o640, False)
    assert list(tmp_path.iterdir()) == [path]
