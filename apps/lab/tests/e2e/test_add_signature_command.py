"""`stallkit pack add` as it is typed: what it writes is a pack that meets its examples, or nothing."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
from pathlib import Path
from typing import Callable

import pytest
from stallkit_lab.add_signature import read_capture, write

from stallkit.detect.signature import Signature
from stallkit.packs.pack_file import read_pack
from stallkit.testing import check_pack

pytestmark = pytest.mark.e2e

Add = Callable[..., subprocess.CompletedProcess[str]]
WAITING = ["--id", "deploy", "--state", "waiting", "--kind", "confirm"]


@pytest.fixture
def pack(stallkit_command: str, tmp_path: Path) -> Path:
    """The package's folder of a new pack, with two captures beside the pack."""
    subprocess.run([stallkit_command, "pack", "new", "acme"], cwd=tmp_path, check=True, capture_output=True)
    for name, place in (("one", "staging"), ("two", "production")):
        text = f"Reading the plan\nDeploy to {place} now? [yes/no]: "
        (tmp_path / f"{name}.txt").write_text(f"---\ncursor = [{len(text) - 17}, 1]\n---\n{text}\n")
    return tmp_path / "stallkit-acme/src/stallkit_acme"


@pytest.fixture
def add(stallkit_command: str, pack: Path, tmp_path: Path) -> Add:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [stallkit_command, "pack", "add", "--pack", "stallkit-acme", *arguments]
        return subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=60)

    return run


def state_of(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_signature_is_written_with_its_examples(add: Add, pack: Path) -> None:
    done = add("one.txt", "two.txt", *WAITING)
    assert (done.returncode, done.stderr) == (0, "")
    assert "proposed from 2 captures, compared with 4 other screens" in done.stdout
    assert "doubtful" not in done.stdout
    assert "it meets its examples" in done.stdout
    signature = read_pack(pack / "signatures.toml").signatures[-1]
    assert [(one.pattern, one.where) for one in signature.all_of] == [
        (r"^Deploy to \S+ now\? \[yes/no\]: *$", "prompt_line")
    ]
    assert (signature.id, signature.severity, signature.dismissal) == ("deploy", "high", None)
    names = sorted(file.name for file in (pack / "screens/deploy").iterdir())
    assert names == ["hit-one-1.txt", "hit-two-2.txt", "miss-made.txt"]
    assert check_pack(pack) == 7


def test_one_capture_is_called_uncertain_and_a_dry_run_writes_nothing(add: Add, pack: Path) -> None:
    before = state_of(pack)
    done = add("one.txt", *WAITING, "--dry-run", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["version"], told["files"]) == (0, 1, [])
    assert told["all_of"] == [
        {"text": None, "pattern": r"^Deploy to staging now\? \[yes/no\]: *$", "where": "prompt_line"}
    ]
    assert "there is one capture" in told["doubts"][0]
    assert state_of(pack) == before


def test_cases_of_a_corpus_are_told_apart_and_its_broken_lines_named(add: Add, tmp_path: Path) -> None:
    shown = "Reading the plan\nDeploy to nowhere now? [yes/no]: "
    case = {"id": "w", "screen": shown, "label": {"state": "working"}}
    same = {"id": "s", "screen": shown, "label": {"state": "waiting", "kind": "confirm"}}
    (tmp_path / "same.jsonl").write_text(json.dumps(same) + "\n{}\n")
    (tmp_path / "other.jsonl").write_text(json.dumps(case) + "\n")
    done = add("one.txt", "two.txt", *WAITING, "--others", "same.jsonl", "--dry-run")
    assert (done.returncode, "same.jsonl:2" in done.stderr) == (7, True)
    done = add("one.txt", "two.txt", *WAITING, "--others", "other.jsonl")
    assert (
        done.returncode,
        "nothing distinguishes it from 1 of the other screens: w; capture more" in done.stderr,
    ) == (1, True)


def test_a_capture_of_another_program_than_the_packs_is_doubtful(add: Add, pack: Path, tmp_path: Path) -> None:
    text = "---\ncursor = [16, 0]\nforeground = {}\n---\nGo on with it all? "
    for number, name in enumerate(["acme", "python3.12", "bash"]):
        (tmp_path / f"{number}.txt").write_text(text.format(json.dumps(name)))
    said = json.loads(add("0.txt", "1.txt", *WAITING, "--dry-run", "--json").stdout)["doubts"]
    assert said == []
    (doubt,) = json.loads(add("0.txt", "2.txt", *WAITING, "--dry-run", "--json").stdout)["doubts"]
    assert (
        doubt
        == "bash ran in the foreground and is not one of the pack's programs: add it to foreground in signatures.toml"
    )


def test_a_stray_file_of_the_pack_is_named_and_the_rest_compared(add: Add, pack: Path) -> None:
    (pack / "screens/asks_to_continue/shot.txt").write_text("x")
    (pack / "screens/asks_to_continue/hit-latin.txt").write_bytes(b"\xe9")
    done = add("one.txt", "two.txt", *WAITING)
    assert done.returncode == 7
    assert "compared with 4 other screens" in done.stdout
    assert "shot.txt: begin its name with hit-, miss- or todo-" not in done.stdout
    latin, shot = done.stderr.splitlines()
    assert "hit-latin.txt:1: not UTF-8" in latin
    assert "shot.txt: " in shot and "begin its name with" in shot


def test_a_menu_that_hides_the_cursor_is_a_signature_of_a_dialog(add: Add, pack: Path, tmp_path: Path) -> None:
    front = "---\nsize = [80, 24]\ncursor = [20, 4]\ncursor_visible = false\n---\n"
    for name, number in (("m1", 12), ("m2", 3)):
        shown = f"Delete {number} old snapshots?\n  ❯ Keep them\n    Delete them\n\n  ↑/↓ move · q leave\n"
        (tmp_path / f"{name}.txt").write_text(front + shown)
    done = add("m1.txt", "m2.txt", "--id", "snapshots", "--state", "waiting", "--kind", "select")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert read_pack(pack / "signatures.toml").signatures[-1].cursor == "hidden"
    assert check_pack(pack) == 7


def test_what_cannot_be_written_leaves_the_pack_as_it_was(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = state_of(pack)
    capture = read_capture(pack.parents[2] / "one.txt")
    signature = Signature(id="deploy", title="", state="working", all_of=["Deploy to"])  # type: ignore[arg-type]

    def no_room(self: Path, *_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_text", no_room)
    with pytest.raises(OSError, match="No space left"):
        write(pack, signature, [capture])
    assert state_of(pack) == before
    assert not (pack / "screens/deploy").exists()


def test_line_ends_of_windows_stay_and_a_credential_is_not_written(add: Add, pack: Path, tmp_path: Path) -> None:
    file = pack / "signatures.toml"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    file.chmod(0o640)
    assert add("one.txt", "two.txt", *WAITING).returncode == 0
    content = file.read_bytes()
    assert content.count(b"\n") == content.count(b"\r\n")
    assert file.stat().st_mode & 0o777 == 0o640
    token = "ghp_" + "a1B2" * 9
    (tmp_path / "one.txt").write_text(f"export TOKEN={token}\nGo on with the upload? ")
    assert add("one.txt", "--id", "upload", *WAITING[2:]).returncode == 0
    assert not any(token.encode() in content for content in state_of(pack).values())


def test_what_cannot_be_added_is_said_and_nothing_is_written(add: Add, pack: Path) -> None:
    for arguments, code, said in [
        (["one.txt", "--id", "deploy", "--state", "waiting"], 64, "--kind is required with --state waiting"),
        (["one.txt", "--id", "deploy", "--state", "idle", "--kind", "tui"], 64, "invalid with any other"),
        (["one.txt", "--id", "asks_to_continue", *WAITING[2:]], 1, "choose another id"),
        (["one.txt", "--id", "Deploy", *WAITING[2:]], 1, "not a name of lower-case letters"),
        (["one.txt", *WAITING, "--pack", "."], 1, "holds no signatures.toml"),
        (["none.txt", *WAITING], 64, "does not exist"),
    ]:
        before = state_of(pack)
        done = add(*arguments)
        assert (done.returncode, said in done.stderr) == (code, True), done.stderr
        assert state_of(pack) == before, (arguments, code)


def test_a_signature_that_an_earlier_one_shadows_is_shown(add: Add, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("Look at the plan first\nacme: continue with everything? [yes/no]: ")
    done = add("one.txt", *WAITING)
    assert done.returncode == 7
    assert "a hit that acme:asks_to_continue matches" in done.stdout


def test_a_signature_that_wins_or_won_is_named(add: Add, pack: Path, tmp_path: Path) -> None:
    done = add("one.txt", "two.txt", *WAITING)
    assert "until now shell_yn:" in done.stdout and "matched one, two; the new signature comes before it" in done.stdout
    broad = '[[signature]]\nid = "broad"\ntitle = "any"\nstate = "waiting"\nkind = "confirm"\n'
    broad += "all_of = [{ pattern = 'now.*: *$', where = \"prompt_line\" }]\n\n[[signature]]"
    file = pack / "signatures.toml"
    shutil.rmtree(pack / "screens" / "deploy")
    before = file.read_text().partition('[[signature]]\nid = "deploy"')[0]
    file.write_text(before.replace("[[signature]]", broad, 1))
    told = json.loads(add("one.txt", "two.txt", "--json", "--dry-run", *WAITING).stdout)
    assert [(one["signature"], one["wins"]) for one in told["rivals"]] == [("acme:broad", True)] * 2
    assert any("acme:broad wins on one, two" in doubt for doubt in told["doubts"])
