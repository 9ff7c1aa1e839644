"""Chevrons in every form, and no pattern that runs away; the examples are items of their own."""

import pytest

from stallkit import Engine, Screen, load_pack

ENGINE = Engine([load_pack("stallkit_node_prompts")])


@pytest.mark.parametrize("chevron", "›❯▸▶")
@pytest.mark.parametrize(
    "line", ["? Install it? {}", "  ? Install it? {}  ", "\x1b[36m?\x1b[39m Install it? \x1b[90m{}\x1b[39m "]
)
def test_chevron_question(chevron: str, line: str) -> None:
    match = ENGINE.detect(Screen.from_text("$ vitest\n" + line.format(chevron))).match
    assert match is not None and match.signature.id == "chevron_question"


@pytest.mark.parametrize(
    "line", ["What happened? ›", "1a2b3c (HEAD -> main) ❯", "? Name › Ada", "✔ Name › Ada", "? Name Ada"]
)
def test_not_a_chevron_question(line: str) -> None:
    assert ENGINE.detect(Screen.from_text("$ vitest\n" + line)).match is None
