"""What every test has: nothing is skipped in silence where everything can run."""

from __future__ import annotations

import os
import zlib
from itertools import count
from pathlib import Path
from typing import Iterator

import pytest
from hypothesis import HealthCheck, settings

# No property has a deadline: a machine may be slow and busy.
settings.register_profile("any", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The checks give the same answer for the same tree: where nobody watches, the examples are always the same ones.  Run
# pytest by hand without STALLKIT_STRICT to try others.
settings.register_profile("same", settings.get_profile("any"), derandomize=True)
settings.load_profile("same" if os.environ.get("STALLKIT_STRICT") == "1" else "any")


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
    """Where several processes share the tests, files that compute and files that wait are mixed, alike in each run."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: zlib.crc32(item.nodeid.partition("::")[0].encode()))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """With STALLKIT_STRICT=1 a skip is a failure: the machine has all it takes, so something is wrong."""
    report = yield
    if os.environ.get("STALLKIT_STRICT") == "1" and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped although STALLKIT_STRICT=1: {report.longrepr}"
    return report
