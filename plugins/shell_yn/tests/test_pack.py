"""What no machine answers, what it answers with, and no pattern that runs away; the examples are items of their own."""

import pytest

from stallkit import Engine, Screen, Snapshot, judge, load_pack
from stallkit.press.rules import PromptFacts

ENGINE = Engine([load_pack("stallkit_shell_yn")])


@pytest.mark.parametrize(
    "text",
    [
        "rm: remove write-protected regular file 'a'? ",
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
        ("Fortfahren? [j/N] ", "j Enter"),
        ("Really? (yes|no) ", "yes Enter"),
        ("All data will be erased.\n\nContinue? [y/N] ", "y Enter"),  # a rule may allow it: no word above decides
    ],
)
def test_keys(text: str, keys: str) -> None:
    found = ENGINE.detect(Screen.from_text(text))
    assert str(PromptFacts.of(judge(found, Snapshot(screen=found.screen))).keys) == keys
