"""What every test has: nothing is skipped in silence where everything can run."""

from __future__ import annotations

import gc
import os
import sys
import zlib
from itertools import count
from pathlib import Path, PurePath
from typing import Iterator

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent / "tests"))  # all distributions' tests share terminals.py
pytest_plugins = ["terminal_fixtures"]

# Files whose tests take a minute or so, mostly to wait.
_LONG = ("test_soaks", "test_hung_agent", "test_live_short", "test_site", "test_fleet_page", "test_demo_fleet")

# No property has a deadline: a machine may be slow and busy.
settings.register_profile("any", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The checks give the same answer for the same tree: where nobody watches, the examples are always the same ones.  Run
# pytest by hand without STALLKIT_STRICT to try others.
settings.register_profile("same", settings.get_profile("any"), derandomize=True)
settings.load_profile("same" if os.environ.get("STALLKIT_STRICT") == "1" else "any")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Thousands of tests are made and kept: to look for garbage among them takes a seventh of the time to find them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def _states(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Directories that nothing is in, each once; pytest's own would list the thousands before it each time."""
    folder = tmp_path_factory.mktemp("states")

    def made() -> Iterator[Path]:
        for number in count():
            path = folder / str(number)
            path.mkdir(0o700)
            yield path

    return made()


@pytest.fixture(autouse=True)
def _own_state(_states: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's own state, or is told which tmux server it runs in."""
    monkeypatch.setenv("STALLKIT_STATE_DIR", str(next(_states)))
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.delenv("STALLKIT_TMUX", raising=False)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where several processes share the tests, each begins with what takes long and ends with what is short.

    Else one of them would end with a minute's test while the others have nothing left.  In between, files that compute
    and files that wait are mixed, alike in each run.
    """
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "0"))
    if processes:
        items[:] = _shared_out(items, processes)


def _shared_out(items: list[pytest.Item], processes: int) -> list[pytest.Item]:
    """The tests in as many parts, of about as many tests each, as xdist hands them out at first."""
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    parts: list[list[pytest.Item]] = [[] for _ in range(processes)]
    for name in sorted(files, key=lambda name: (_rank(name), zlib.crc32(name.encode()), name)):
        min(parts, key=len).extend(files[name])
    return [item for part in parts for item in part]


def _rank(name: str) -> int:
    path = PurePath(name)
    return 0 if path.name.startswith(_LONG) else 2 if path.name == "signatures.toml" else 1


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """With STALLKIT_STRICT=1 a skip is a failure: the machine has all it takes, so something is wrong."""
    report = yield
    if os.environ.get("STALLKIT_STRICT") == "1" and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped although STALLKIT_STRICT=1: {report.longrepr}"
    return report
