"""`stallkit eval` as it is typed: figures, baselines, broken input, engines, the page."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from labelled import BUSY, READS, row, write
from terminals import wait_for

pytestmark = pytest.mark.e2e

CORPORA = [Path(__file__).parents[4] / "tests" / "corpus" / name for name in ("agents.jsonl", "cli.jsonl")]
Eval = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def evaluate(stallkit_command: str, tmp_path: Path) -> Eval:
    def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [stallkit_command, "eval", *map(str, arguments)]
        env = {**os.environ, **environment}
        return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, cwd=tmp_path, env=env)

    return run


@cache
def figures(command: str, *options: str) -> Any:
    """The object that `eval --json` gives for both corpora, computed once for all tests."""
    return json.loads(subprocess.check_output([command, "eval", *map(str, CORPORA), "--json", *options], timeout=120))


def test_the_tables_say_what_the_object_says(evaluate: Eval, stallkit_command: str) -> None:
    found = figures(stallkit_command)
    done = evaluate(*CORPORA, "--by", "program", "--worst", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert found["cases"] == 727 and "727 cases" in done.stdout
    cells = found["waiting"]
    assert f"{cells['tp']} of {cells['tp'] + cells['fp']}" in done.stdout and f"{cells['recall']:.4f}" in done.stdout
    assert "claude-code" in done.stdout and "\x1b" not in done.stdout
    assert done.stdout.count("; judged ") == 4, "two of each sort, and no wrong key"
    assert found["wrong_keys"] == {"careful": 0, "daemon": 0} and found["problems"] == []


def test_facts_and_what_was_learned_from_a_program_are_left_out_on_demand(stallkit_command: str) -> None:
    told = figures(stallkit_command)
    found = figures(stallkit_command, "--screen-only")
    assert found["settings"]["screen_only"] and found["cases"] == 727
    assert found["sure"]["tp"] < told["sure"]["tp"]
    found = figures(stallkit_command, "--leave-out", "program")
    assert "claude_code:composer" in found["left_out"]["claude-code"] and "left_out" not in told
    assert found["waiting"]["recall"] < told["waiting"]["recall"]


def test_a_baseline_fails_what_got_worse(evaluate: Eval, tmp_path: Path) -> None:
    good = write(tmp_path / "c.jsonl", row("asks", **READS), row("busy", BUSY, "working"))
    saved = evaluate(good, "--save", "base.json")
    assert saved.returncode == 0 and (tmp_path / "base.json").exists()
    same = evaluate(good, "--baseline", "base.json")
    assert same.returncode == 0 and "no worse than the baseline" in same.stdout
    write(good, row("asks", BUSY), row("busy", BUSY, "working"), row("new", BUSY))
    worse = evaluate(good, "--baseline", "base.json")
    assert worse.returncode == 7
    assert "worse: became wrong: asks, waiting judged working" in worse.stdout and "appeared (1): new" in worse.stdout
    found = json.loads(evaluate(good, "--baseline", "base.json", "--json").stdout)["baseline"]
    assert found["became_wrong"] == ["asks"] and found["figures"]["waiting recall"] == [1.0, 0.0]
    assert evaluate(good, "--baseline", "base.json", "--tolerance", "1").returncode == 0
    (tmp_path / "base.json").write_text("{")
    broken = evaluate(good, "--baseline", "base.json")
    assert broken.returncode == 1 and broken.stderr.count("\n") == 1 and "base.json" in broken.stderr


def test_broken_cases_are_named_and_the_rest_is_judged(evaluate: Eval, tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", row("asks"), {"id": "x", "screen": "hi"}, "{", row("busy", BUSY, "working"))
    done = evaluate(path, "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["cases"], len(found["problems"])) == (7, 2, 2)
    assert f"{path}:2: it has no label.state; correct the line" in done.stderr and f"{path}:3: " in done.stderr
    assert done.stderr.count("\n") == 2
    write(path, *["{"] * 50)
    many = evaluate(path)
    assert many.returncode == 7 and "30 more problems" in many.stderr and "0 cases" in many.stdout


def test_nothing_to_judge_is_a_finding(evaluate: Eval, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    done = evaluate("empty.jsonl")
    assert done.returncode == 7 and "it holds no case" in done.stderr
    (tmp_path / "folder").mkdir()
    assert evaluate("folder").returncode == 7


def test_usage_errors_are_64(evaluate: Eval) -> None:
    wrong = [
        arguments
        for arguments in [
            [],
            ["/no/such/corpus"],
            [*CORPORA, "--by", "colour"],
            [*CORPORA, "--leave-out", "kind"],
            [*CORPORA, "--jobs", "0"],
            [*CORPORA, "--tolerance", "2"],
            [*CORPORA, "--engine", "spark://here:1"],
            [*CORPORA, "--engine", "dask://here"],
            [*CORPORA, "--engine", "dask://127.0.0.1:1", "--jobs", "2"],
            [*CORPORA, "--baseline", "/no/such/baseline"],
        ]
        if evaluate(*arguments).returncode != 64
    ]
    assert wrong == []


def test_what_cannot_be_written_is_one_line(evaluate: Eval, tmp_path: Path) -> None:
    for option in ["--save", "--html"]:
        path = write(tmp_path / "c.jsonl", row("asks"))
        done = evaluate(path, option, "/no/such/folder/file")
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and "/no/such/folder" in done.stderr, option
        full = evaluate(path, option, "/dev/full") if option == "--html" else done
        assert full.returncode == 1 and "result /" in full.stderr, option


def test_secrets_leave_by_no_door(evaluate: Eval, tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 10
    path = write(
        tmp_path / "c.jsonl", row(f"of {token}", f"export GITHUB_TOKEN={token}\nProceed? [y/N] ", "idle", program=token)
    )
    done = evaluate(path, "--json", "--save", "s.json", "--html", "p.html", "--by", "program", "--leave-out", "program")
    table = evaluate(path, "--baseline", "s.json")
    written = [(tmp_path / name).read_text() for name in ("s.json", "p.html")]
    assert all(token not in text for text in (done.stdout, done.stderr, table.stdout, table.stderr, *written))
    assert json.loads(done.stdout)["misses"] and "vanished" not in table.stdout


def test_no_color_is_kept_to_and_a_narrow_terminal_gets_every_figure(evaluate: Eval, tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", row("asks"), row("busy", BUSY, "working"))
    coloured = re.compile(r"\x1b\[[0-9;]*3[0-9]")
    assert coloured.search(evaluate(path, FORCE_COLOR="1").stdout)
    assert not coloured.search(evaluate(path, FORCE_COLOR="1", NO_COLOR="1").stdout)
    assert evaluate(path, COLUMNS="30").stdout == evaluate(path, COLUMNS="80").stdout


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """The address of a Dask scheduler on loopback, with two workers of one thread."""
    dask = [sys.executable, "-m", "dask"]
    file = tmp_path / "scheduler.json"
    where = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file)]
    worker = [*dask, "worker", *where, "--nthreads", "1", "--no-nanny", "--local-directory"]
    commands = [[*dask, "scheduler", "--port", "0", *where]]
    commands += [[*worker, str(tmp_path / f"worker{number}")] for number in (1, 2)]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for number, command in enumerate(commands):
            with (tmp_path / f"log{number}").open("wb") as log:
                started.append(subprocess.Popen(command, stdout=log, stderr=log))
            wait_for(file.exists, "the scheduler")
        for number in (1, 2):
            log_file = tmp_path / f"log{number}"
            wait_for(lambda file=log_file: b"Registered to" in file.read_bytes(), f"worker {number}")
        yield json.loads(file.read_text())["address"].removeprefix("tcp://")
    finally:
        for process in started:
            process.kill()  # a worker whose scheduler is gone may take no notice of anything less
            process.wait()


def test_a_cluster_says_the_same(evaluate: Eval, cluster: str, tmp_path: Path) -> None:
    """With a broken case, with groups, with signatures left out: one object, whatever the engine."""
    broken = write(tmp_path / "broken.jsonl", row("a"), "{", row("b"))
    options: list[Any] = [*CORPORA, broken, "--json", "--by", "program", "--leave-out", "program"]
    here = evaluate(*options)
    there = evaluate(*options, "--engine", f"dask://{cluster}")
    assert there.returncode == here.returncode == 7
    assert there.stdout == here.stdout and there.stderr == here.stderr
    assert _tasks(cluster) == {True}, "both workers did some of it"


def _tasks(address: str) -> set[bool]:
    """Whether each worker has run something, asked in another process: distributed warns a great deal."""
    code = (
        "import sys, distributed\n"
        "def ran(dask_worker): return dask_worker.state.executed_count > 0\n"
        "with distributed.Client(sys.argv[1]) as client: print(*client.run(ran).values())"
    )
    done = subprocess.run([sys.executable, "-c", code, address], check=True, capture_output=True, text=True, timeout=60)
    answers = done.stdout.split()
    assert len(answers) == 2
    return {answer == "True" for answer in answers}


def test_a_cluster_that_is_not_there_is_one_error(evaluate: Eval) -> None:
    done = evaluate(CORPORA[0], "--engine", "dask://127.0.0.1:9")
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "backend dask://127.0.0.1:9" in done.stderr
