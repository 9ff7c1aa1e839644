"""What tests of sessions share."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import pytest
from repositories import commit, git
from stallkit_sessions.register import Register


@pytest.fixture
def register(tmp_path: Path) -> Iterator[Register]:
    made = Register(tmp_path / "state" / "sessions.db")
    yield made
    made.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A repository with one commit."""
    made = tmp_path / "home"
    git(tmp_path, "init", "-q", "home")
    commit(made)
    return made
