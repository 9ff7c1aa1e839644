"""What `pack remove` takes out of a pack's file, and that it leaves the rest as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from stallkit_lab.remove_signature import removal, remove_command

from stallkit.errors import UnknownName
from stallkit.packs.pack_file import read_pack

SIGNATURE = """[[signature]]
id = "{id}"
title = "{id}"
state = "waiting"
kind = "confirm"
all_of = ["{id}?"]
"""
HEAD = 'format = 1\nname = "acme"\n'
FORM = '[[signature.forms]]\nedge = "any"\ndialog = ["two?"]\n'
TRAP = 'hits = ["""\n[[signature]]\nid = "no"\n# no comment\n"""]\n'
END = "\n# the end\n[executables]\nacme = ['*/acme']\n"


def rows(id: str, more: str = "", above: str = "") -> str:
    return f"\n{above}" + SIGNATURE.format(id=id) + more


ONE, TWO, THREE = (
    rows("one", TRAP, "# of one\n"),
    rows("two", FORM, "# of two\n# lint: ignore SK403: new\n"),
    rows("three"),
)


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    (tmp_path / "signatures.toml").write_text(HEAD + ONE + TWO + THREE + END)
    for id in ("one", "two"):
        (tmp_path / "screens" / id).mkdir(parents=True)
        (tmp_path / "screens" / id / "hit-1.txt").write_text(f"{id}?\n")
    return tmp_path


def call(*words: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(remove_command, words, input=typed)


@pytest.mark.parametrize(
    ("id", "left"), [("one", TWO + THREE + END), ("two", ONE + THREE + END), ("three", ONE + TWO + END)]
)
def test_its_rows_go_with_its_comments_and_all_others_stay(pack: Path, id: str, left: str) -> None:
    done = call(f"{pack}:{id}", "--yes")
    assert (done.exit_code, done.exception) == (0, None), done.output
    text = (pack / "signatures.toml").read_text()
    assert [line for line in text.splitlines() if line] == [line for line in (HEAD + left).splitlines() if line]
    assert id not in {one.id for one in read_pack(pack / "signatures.toml").signatures}
    assert not (pack / "screens" / id).exists()
    assert f'id = "{id}"' in done.output, "what goes is shown"


def test_nothing_goes_unasked(pack: Path) -> None:
    before = (pack / "signatures.toml").read_text()
    for words in ([], ["--no-input"]):  # nobody sits at this keyboard
        done = call(f"{pack}:two", *words, typed="y\n")
        assert done.exit_code == 2 and "nothing was removed" in done.output
        assert "screens/two/hit-1.txt" in done.output
    assert (pack / "signatures.toml").read_text() == before and (pack / "screens/two/hit-1.txt").is_file()


def test_the_last_one_and_one_that_is_not_there_stay(pack: Path) -> None:
    (pack / "signatures.toml").write_text(HEAD + ONE)
    assert "the only signature" in call(f"{pack}:one", "--yes").output
    with pytest.raises(UnknownName, match="it has one"):
        removal(pack, "two")
    assert call("two", "--yes").exit_code != 0
    assert isinstance(call("no_such_pack:two", "--yes").exception, UnknownName)


def test_line_ends_stay_as_they_are(pack: Path) -> None:
    file = pack / "signatures.toml"
    file.write_bytes((HEAD + ONE + TWO + THREE).replace("\n", "\r\n").encode())
    assert call(f"{pack}:two", "--yes").exit_code == 0
    assert b"\r\n" in file.read_bytes() and b"\n" not in file.read_bytes().replace(b"\r\n", b"")
