"""Where files are: on Linux without platformdirs, and yet just where it says."""

from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest

from stallkit.config import _user_path, cache_dir


@pytest.mark.parametrize("home", ["/home/me", "relative", "", None])
@pytest.mark.parametrize("given", ["/elsewhere", "relative", " ", "", None])
@pytest.mark.parametrize("kind", ["cache", "config", "state"])
def test_a_folder_is_where_platformdirs_says(
    kind: str, given: str | None, home: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ((f"XDG_{kind.upper()}_HOME", given), ("HOME", home)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert _user_path(kind) == getattr(platformdirs, f"user_{kind}_path")("stallkit")


def test_the_cache_can_be_elsewhere_or_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STALLKIT_CACHE", "off")
    assert cache_dir() is None
    monkeypatch.setenv("STALLKIT_CACHE", "/elsewhere")
    assert cache_dir() == Path("/elsewhere")
    monkeypatch.setenv("STALLKIT_CACHE", "")
    assert cache_dir() == platformdirs.user_cache_path("stallkit")
