"""A process is started again as it was, after a kill -9; and never where that would give another one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from terminals import wait_for

from stallkit.stuck.started import how_it_was_started

pytestmark = pytest.mark.e2e

SCRIPT = 'echo "$$ $PWD $KEPT $1"; read it'


def test_it_has_its_words_its_directory_its_variables_and_its_output(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with out.open("wb") as output:
        words = ["sh", "-c", SCRIPT, "name", "a word"]
        first = subprocess.Popen(
            words, cwd=tmp_path, env={**os.environ, "KEPT": "two words"}, stdin=subprocess.PIPE, stdout=output
        )
    wait_for(lambda: out.read_text().endswith("\n"), "the first to have begun")
    started = how_it_was_started(first.pid, changes_user=False)
    first.kill()
    first.communicate()
    assert started is not None
    started.again()
    wait_for(lambda: out.read_text().count("\n") == 2, "the second to have begun")
    one, two = (line.split(" ", 1) for line in out.read_text().splitlines())
    assert one[0] != two[0] and one[1] == two[1] == f"{tmp_path} two words a word"


def test_one_in_other_namespaces_or_of_another_user_is_left_to_its_owner(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may start such processes")
    for words in (["unshare", "--net", "sleep", "600"], ["setpriv", "--reuid=65534", "sleep", "600"]):
        process = subprocess.Popen(words)
        try:
            wait_for(lambda pid=process.pid: Path(f"/proc/{pid}/comm").read_text() == "sleep\n", f"{words} to run")
            assert how_it_was_started(process.pid, changes_user=False) is None
        finally:
            process.kill()
            process.wait()


def test_one_that_is_not_there_is_not_started(tmp_path: Path) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert how_it_was_started(process.pid, changes_user=False) is None
