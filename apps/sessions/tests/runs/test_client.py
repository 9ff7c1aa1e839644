"""Runs across processes: their folders and background processes, and all that goes wrong between the two."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Iterator

import pytest
from stallkit_sessions.runs import client as runs
from started import BACKGROUND, of_folder
from terminals import read_of, wait_for

from stallkit.daemon_socket import listens
from stallkit.errors import SessionGone, StoreError, TransportError

pytestmark = pytest.mark.e2e

ASK = ["bash", "-c", "read -p 'Proceed? [y/N] ' x; echo \"you said [$x]\""]
SLEEP = ["sleep", "1000"]
TOKEN = "ghp_" + "a1B2" * 9


def background(state: Path) -> list[int]:
    return of_folder(BACKGROUND, state)


def gone(state: Path) -> None:
    wait_for(lambda: not background(state), "the background processes to end")


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state directory with a short path, whose runs end with the test."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    monkeypatch.setenv("STALLKIT_STATE_DIR", str(folder))
    yield folder
    for process in background(folder):
        os.kill(process, signal.SIGCONT)
        os.kill(process, signal.SIGTERM)
    gone(folder)
    shutil.rmtree(folder)


def folder_of(state: Path, id: str) -> Path:
    return state / "runs" / id


def poll(id: str) -> dict[str, Any]:
    return runs.request(id, {"do": "poll"})


def until(id: str, *statuses: str) -> dict[str, Any]:
    """The first poll with one of these statuses."""
    seen: list[dict[str, Any]] = []

    def came() -> bool:
        seen.append(poll(id))
        return seen[-1]["status"] in statuses

    wait_for(came, f"{statuses} of {id}: {seen[-1:]}")
    return seen[-1]


def events(state: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (state / "events.jsonl").read_text().splitlines()]


# --- from start to end ---
def test_a_run_from_start_to_end(state: Path) -> None:
    os.chmod(state, 0o755)  # noqa: PTH101
    id = runs.start(ASK)
    folder = folder_of(state, id)
    assert runs.request(id, {"do": "wait"})["status"] == "waiting"
    assert [run["status"] for run in runs.listing()] == ["waiting"] and runs.latest() == id
    for path, mode in ((state / "runs", 0o700), (folder, 0o700), (folder / "about.json", 0o600)):
        assert stat.S_IMODE(path.stat().st_mode) == mode, path
    assert stat.S_IMODE((folder / "socket").stat().st_mode) & 0o077 == 0
    assert stat.S_IMODE((state / "events.jsonl").stat().st_mode) == 0o600
    assert runs.request(id, {"do": "answer", "text": "y"})["pressed"] is True
    result = runs.request(id, {"do": "wait"})
    assert (result["status"], result["exit_status"], result["id"]) == ("exited", 0, id)
    gone(state)
    assert poll(id) | {"seconds": 0} == result | {"seconds": 0}, "its result stays"
    assert sorted(path.name for path in folder.iterdir()) == ["about.json", "keeper.log", "result.json"]
    assert (folder / "keeper.log").read_text() == ""
    assert [event["event"] for event in events(state)] == ["run_started", "run_answered", "run_ended"]
    assert {event["target"] for event in events(state)} == {f"run:{id}"}
    for _ in range(2):  # over at once, and told in order
        assert runs.request(runs.start(["true"]), {"do": "wait"})["exit_status"] == 0
    assert [event["event"] for event in events(state)[3:]] == ["run_started", "run_ended"] * 2


def test_a_run_that_nobody_asks_for_ends_by_itself(state: Path) -> None:
    id = runs.start(ASK, abandoned_s=2.0)
    assert runs.request(id, {"do": "wait", "timeout": 3.0})["status"] == "waiting", "a caller waits for it"
    gone(state)
    assert poll(id)["status"] == "exited" and events(state)[-1]["event"] == "run_ended"


def test_the_program_has_its_callers_umask_and_folder_and_imports_nothing_from_there(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project may have a `select.py` of its own, or one that somebody put there."""
    for name in ("select", "attrs", "stallkit"):
        (tmp_path / f"{name}.py").write_text("import pathlib; pathlib.Path('ran').touch(); raise SystemExit")
    monkeypatch.chdir(tmp_path)
    before = os.umask(0o022)
    try:
        id = runs.start(["sh", "-c", "umask; touch made"], cwd=str(tmp_path))
    finally:
        os.umask(before)
    assert until(id, "exited")["output"].strip() == "0022"
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o644 and not (tmp_path / "ran").exists()


def test_what_does_not_start_leaves_nothing(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TransportError, match="does not start"):
        runs.start(["/no/such/program"])
    with pytest.raises(TransportError, match="a terminal has"):
        runs.start(["true"], size=[0, 0])  # type: ignore[arg-type]
    assert not background(state) and not list((state / "runs").iterdir())
    assert [event["event"] for event in events(state)] == ["run_started", "run_ended"] * 2
    (state / "events.jsonl").unlink()
    (state / "events.jsonl").mkdir()
    with pytest.raises(TransportError, match="directory"):
        runs.start(["touch", str(tmp_path / "ran")])
    assert not (tmp_path / "ran").exists() and not background(state)
    with monkeypatch.context() as patch, pytest.raises(StoreError, match="set STALLKIT_STATE_DIR"):
        patch.setenv("STALLKIT_STATE_DIR", "/proc/nowhere")
        runs.start(["true"])


# --- secrets ---
def test_secrets_of_a_command_line_are_in_no_file(state: Path) -> None:
    secret = "hunter2-and-more"
    lines = [["--password", secret], [f"--token={secret}"], ["curl", "-u", f"ada:{secret}"], [TOKEN]]
    ids = [runs.start(["sh", "-c", 'printf "%s " "$@"; read x', "sh", *words]) for words in lines]
    for id in ids:
        until(id, "maybe", "waiting")
        runs.request(id, {"do": "stop"})
    gone(state)
    for words, about in zip(reversed(lines), runs.listing(), strict=True):
        assert about["command"][:2] == ["sh", "-c"] and len(about["command"]) == 4 + len(words)
        assert "[redacted]" in " ".join(about["command"])
    for path in state.rglob("*"):
        text = path.read_text() if path.is_file() else ""
        assert TOKEN not in text, path
        # What the program itself prints is masked where it looks like a secret there, word by word.
        assert path.name == "result.json" or secret not in text, path


def test_an_answer_is_in_no_file_but_what_the_program_prints(state: Path) -> None:
    ask = "read -p 'Its name? ' x; clear; read -p 'Sure? [y/N] ' y; clear; read -s -p 'Password: ' z; echo; echo ${#z}"
    id = runs.start(["bash", "-c", ask])
    for given in ({"text": "cordial-otter"}, {"keys": "'brisk lemur' Enter"}):
        until(id, "waiting", "maybe")
        assert runs.request(id, {"do": "answer", **given})["pressed"]
    wait_for(lambda: until(id, "waiting")["kind"] == "secret", "the secret to be asked for")
    assert runs.request(id, {"do": "answer", "text": "correct horse"})["end"] == "refused"
    assert runs.request(id, {"do": "answer", "text": "correct horse", "secret": True})["pressed"]
    assert "13" in runs.request(id, {"do": "wait"})["output"]
    gone(state)
    texts = {path: path.read_text() for path in state.rglob("*") if path.is_file()}
    assert not [path for path, text in texts.items() if "horse" in text]
    shown = {path: text for path, text in texts.items() if path.name != "result.json"}
    assert not [path for path, text in shown.items() if "otter" in text or "lemur" in text]
    assert '"answer": "[13 characters]"' in texts[state / "events.jsonl"]
    assert '"answer": "[11 characters] Enter"' in texts[state / "events.jsonl"]


# --- clients ---
NONSENSE: list[dict[str, Any]] = [
    {},
    {"do": "dance"},
    {"do": ["poll"]},
    {"do": "wait", "window": "soon"},
    {"do": "wait", "window": float("nan")},
    {"do": "wait", "timeout": [1]},
    {"do": "wait", "timeout_s": "soon"},
    {"do": "answer"},
    {"do": "answer", "keys": "Entre"},
    {"do": "answer", "keys": 7},
]


def test_clients_who_ask_nonsense_or_go_away_harm_nobody(state: Path) -> None:
    id = runs.start(ASK)
    for progress in (b"true", b"false"):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(folder_of(state, id) / "socket"))
            client.sendall(b'{"do": "wait", "progress": %s}\n' % progress)
    for asked in NONSENSE:
        with pytest.raises(TransportError) as caught:
            runs.request(id, asked)
        assert not isinstance(caught.value, SessionGone), asked
    assert runs.request(id, {"do": "wait"})["status"] == "waiting"
    assert (folder_of(state, id) / "keeper.log").read_text() == ""


def test_two_answers_to_one_prompt_press_one_after_the_other(state: Path) -> None:
    """Both are told what came of theirs; the second finds a program that asks nothing more."""
    id = runs.start(["bash", "-c", "read -p 'Proceed? [y/N] ' x; echo; echo \"<$x>\"; sleep 1000"])
    until(id, "waiting")
    with ThreadPoolExecutor() as pool:
        ends = list(pool.map(lambda text: runs.request(id, {"do": "answer", "text": text}), ["yes", "no"]))
    assert sorted(end["pressed"] for end in ends) == [False, True]
    answer = "yes" if ends[0]["pressed"] else "no"
    wait_for(lambda: f"<{answer}>" in poll(id)["output"], "the answer")


# --- background processes ---
def test_a_killed_background_process_is_told_and_never_a_false_status(state: Path) -> None:
    id = runs.start(SLEEP)
    (process,) = background(state)
    with ThreadPoolExecutor() as pool:
        waits = pool.submit(runs.request, id, {"do": "wait"})
        wait_for(lambda: len(list(Path(f"/proc/{process}/task").iterdir())) >= 4, "the wait to begin")
        os.kill(process, signal.SIGKILL)
        with pytest.raises(SessionGone, match="how it ended is unknown"):
            waits.result()
    with pytest.raises(SessionGone, match="how it ended is unknown"):
        poll(id)
    assert [(run["status"], run["exit_status"]) for run in runs.listing()] == [("lost", None)]


def test_a_background_process_that_hangs_and_one_that_is_told_to_end(state: Path) -> None:
    id = runs.start(SLEEP)
    (process,) = background(state)
    os.kill(process, signal.SIGSTOP)
    for asked in ("poll", "wait"):
        with pytest.raises(TransportError, match="its background process does not answer") as caught:
            runs.request(id, {"do": asked}, answer_s=0.3)
        assert not isinstance(caught.value, SessionGone)
    os.kill(process, signal.SIGCONT)
    os.kill(process, signal.SIGTERM)
    gone(state)
    result = poll(id)
    assert (result["status"], result["signal"]) == ("exited", "SIGHUP"), "its program ends, and it says how"


def test_results_are_forgotten_after_a_week(state: Path) -> None:
    old, new, lost, live = (runs.start(SLEEP) for _ in range(4))
    for id in (old, new):
        runs.request(id, {"do": "stop"})
    wait_for(lambda: len(background(state)) == 2, "two of them to end")
    lost_process = next(pid for pid in background(state) if lost.encode() in read_of(pid, "cmdline"))
    os.kill(lost_process, signal.SIGKILL)
    wait_for(lambda: not listens(folder_of(state, lost) / "socket"), "one to be lost")
    long_ago = time.time() - runs.KEPT_S - 60
    for path in (folder_of(state, old) / "result.json", *(folder_of(state, id) / "about.json" for id in (lost, live))):
        os.utime(path, (long_ago, long_ago))
    latest = runs.start(["true"])
    assert {folder.name for folder in (state / "runs").iterdir()} == {new, live, latest}


def test_a_disk_that_fills_up_keeps_no_background_process(state: Path) -> None:
    """The result finds no room; who waits gets it all the same, and the background process ends."""
    script = (
        "mount -t tmpfs -o size=256k none $STALLKIT_STATE_DIR && exec $0 -c '"
        "from stallkit_sessions.runs import client as runs; from pathlib import Path; import json, os\n"
        'id = runs.start(["bash", "-c", "read x; seq 20000"])\n'
        'full = Path(os.environ["STALLKIT_STATE_DIR"], "full").open("wb", buffering=0)\n'
        "try:\n    while True: full.write(bytes(4096))\nexcept OSError: pass\n"
        'runs.request(id, {"do": "wait"}); runs.request(id, {"do": "answer", "text": ""})\n'
        'print(json.dumps(runs.request(id, {"do": "wait"})["exit_status"]), id)\''
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, sys.executable], check=False, capture_output=True, text=True, timeout=60
    )
    if "unshare failed" in done.stderr or "mount:" in done.stderr:
        pytest.skip("no mount namespace may be made here")
    assert done.stdout.split()[:1] == ["0"], done.stderr
    gone(state)
