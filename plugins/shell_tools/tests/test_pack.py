"""What no machine answers, what it answers with, and no pattern that runs away; the examples are items of their own."""

import pytest

from stallkit import Engine, Screen, load_pack

ENGINE = Engine([load_pack("stallkit_shell_tools")])


@pytest.mark.parametrize(
    "text",
    [
        "Press Enter to reboot",
        "1) wipe\n2) keep\n#? ",
        "--More--",
        "> ",
        ">>> ",
        "│ Restart services?  │\n│ < Yes >   < No >   │\n└────────────────────┘",
    ],
)
def test_no_machine_answers_it(text: str) -> None:
    match = ENGINE.detect(Screen.from_text(text)).match
    assert match is not None
    assert match.signature.dismissal is None, match.signature.id


@pytest.mark.parametrize(
    "text, keys", [("Press ENTER to continue", "Enter"), ("Press any key to continue . . .", "Space")]
)
def test_keys(text: str, keys: str) -> None:
    match = ENGINE.detect(Screen.from_text(text)).match
    assert match is not None and match.signature.dismissal is not None
    assert str(match.signature.dismissal.keys) == keys


@pytest.mark.parametrize("text", ["Overwrite? (y/n)\n> ", "n/s/q> ", "(y/n) ", "Type yes to go on\n>>> "])
def test_an_interpreter_is_told_from_a_choice(text: str) -> None:
    match = ENGINE.detect(Screen.from_text(text)).match
    assert match is None, match.signature.id
