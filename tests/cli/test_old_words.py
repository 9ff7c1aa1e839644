"""Words of the version before do what they did, and say what they are called today."""

from __future__ import annotations

import subprocess
import sys

STALLKIT = [sys.executable, "-m", "stallkit"]


def said(*words: str) -> tuple[int, str]:
    done = subprocess.run([*STALLKIT, *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_an_old_word_does_what_todays_does() -> None:
    for old, today, option in (
        (("wait-ready", "nobody", "--timeout", "0.1"), ("wait", "nobody", "--timeout", "0.1"), "wait"),
        (("help", "wait-ready"), ("help", "wait"), "wait"),
        (("check", "nobody", "--hung-after=30"), ("check", "nobody", "--hang-timeout=30"), "--hang-timeout"),
        (("check", "nobody", "--watch-for", "0.1"), ("check", "nobody", "--for", "0.1"), "--for"),
    ):
        code, told = said(*old)
        note, _, rest = told.partition("\n")
        assert f"is called {option} now" in note and (code, rest) == said(*today), old


def test_a_word_that_is_no_option_there_stays_as_it_is() -> None:
    """Of a command that is started, of one that has no such option."""
    code, told = said("packs", "--hung-after", "3")
    assert code == 64 and "no such option" in told.lower() and "is called" not in told
    code, told = said("run", "--", "echo", "--wait-ready", "wait-ready")
    assert code == 0 and "is called" not in told
