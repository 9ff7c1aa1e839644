"""What failures of docker, podman and bwrap are told as, without any of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from stallkit_sessions.containers.runtime_call import BWRAP, call

from stallkit.errors import ContainerError


def test_an_engine_that_fails_is_an_error_of_its_own() -> None:
    with pytest.raises(ContainerError) as caught:
        call(["false"], "box")
    assert str(caught.value) == "container box: false exited with 1; see whether false info answers by hand"
    assert caught.value.target == "box"


def test_what_is_told_apart_by_its_words_is_one_as_well() -> None:
    for says in ["No such container: box", "Cannot connect to the Docker daemon at unix:///x"]:
        with pytest.raises(ContainerError, match=says):
            call(["sh", "-c", f"echo 'Error: {says}' >&2; exit 1"], "box")


def test_a_sandbox_that_cannot_be_made_is_tried_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    why = "container bwrap: bwrap: setting up uid map: Permission denied; see whether bwrap runs by hand"
    with pytest.raises(ContainerError) as caught:
        call([BWRAP, "true"], BWRAP)
    assert str(caught.value) == why
