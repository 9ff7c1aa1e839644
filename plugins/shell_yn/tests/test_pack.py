"""What no machine answers, what it answers with, and no pattern that runs away; the examples are items of their own."""

import pytest

from stallkit import Engine, Screen, load_pack

ENGINE = Engine([load_pack("stallkit_shell_yn")])


@pytest.mark.parametrize(
    "text",
    [
        "rm: remove write-protected regular file 'a'? ",
        "Delete branch 'main'? [y/N] ",
        "Force push to production? (y/n) ",
        "Format /dev/sdb1? (y/N) ",
        "All data will be erased.\n\nContinue? [y/N] ",
        "Do you agree to the terms of service? (yes/no) ",
        "Continue? Everything will be lost. [y/N] ",
        "Are you really sure? ",
        "1) wipe\n2) keep\n#? ",
    ],
)
def test_no_machine_answers_it(text: str) -> None:
    match = ENGINE.detect(Screen.from_text(text)).match
    assert match is not None
    assert match.signature.dismissal is None, match.signature.id


@pytest.mark.parametrize(
    "text, keys",
    [
        ("Proceed? [y/N] ", "y Enter"),
        ("Do you want to continue? [Y/n] ", "y Enter"),
        ("Continue?", "continue Enter"),
        ("Do you want to proceed?", "yes Enter"),
    ],
)
def test_keys(text: str, keys: str) -> None:
    match = ENGINE.detect(Screen.from_text(text)).match
    assert match is not None and match.signature.dismissal is not None
    assert str(match.signature.dismissal.keys) == keys
