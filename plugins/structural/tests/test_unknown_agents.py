"""Agents that no pack names: whatever stands around a composer or a row at work, it never becomes a sure question."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stallkit import Engine, ProcessFacts, Screen, Snapshot, Verdict, load_pack
from stallkit.evidence.snapshot import KernelFacts, TtyFacts
from stallkit.judging.judge import judged

PACKS = ["stallkit_structural", "stallkit_shell_yn", "stallkit_shell_tools", "stallkit_shell_auth"]
ENGINE = Engine([load_pack(pack) for pack in [*PACKS, "stallkit_node_prompts"]])

HISTORY = "> fix the last row\n\nThe loop now stops at the last row.\nAll tests pass.\n\n"
BORDERS = [("╭", "─", "╮", "│", "╰", "╯"), ("┌", "─", "┐", "│", "└", "┘"), ("┏", "━", "┓", "┃", "┗", "┛")]
PLACEHOLDERS = ["", "Type your message", "Ask anything", "Nachricht eingeben", "输入消息"]
STATUS = ["", " ready", " ? for shortcuts", " model-x · ~/proj · 97% left", " normal mode on"]
SPINNERS = ["⠙ Thinking  Press Esc to cancel", "Running npm test...(5s)", "⣾ Generating", "Retrying in 12s"]
MENU = "Allow this tool?\n\n{mark} Allow once\n  Allow for this session\n  Deny\n"

marks = st.sampled_from([">", "❯", "›"])
widths = st.integers(40, 200)


@st.composite
def composers(draw: st.DrawFn) -> str:
    """A composer in a box, between rules or behind a bar, with or without a placeholder, over a status line."""
    inside, width = f"{draw(marks)} {draw(st.sampled_from(PLACEHOLDERS))}", draw(widths)
    left, over, right, side, low, end = draw(st.sampled_from(BORDERS))
    boxed = (
        f"{left}{over * (width - 2)}{right}\n{side} {inside.ljust(width - 4)} {side}\n{low}{over * (width - 2)}{end}"
    )
    ruled = f"{'─' * width}\n{inside}\n{'─' * width}"
    status = draw(st.sampled_from(STATUS))
    drawn = draw(st.sampled_from([boxed, ruled]) if not status else st.sampled_from([boxed, ruled, f"┃ {inside}\n┃"]))
    return f"{drawn}\n{status}" if status or drawn == boxed else f"{drawn}\n ready"


def look(text: str, foreground: str = "acme") -> Verdict:
    """What is judged of an unknown agent that hides its cursor and listens at rest, as they all do."""
    screen = Screen.from_text(text, cursor=(0, text.count("\n") + 1), size=(200, 60), cursor_visible=False)
    kernel = KernelFacts(listening=True, how="epoll", foreground=foreground, looked_at=3)
    tty, process = TtyFacts(echo=False, canonical=False), ProcessFacts(foreground=foreground)
    now = Snapshot(screen=screen, process=process, kernel=kernel, tty=tty, quiet_s=2.0)
    return judged(ENGINE, now, before=now)


def surely_waits(verdict: Verdict) -> bool:
    return (verdict.state, verdict.certainty) == ("waiting", "sure")


@settings(max_examples=80, deadline=None)
@given(composers())
def test_a_composer_is_idle_in_every_dress(composer: str) -> None:
    assert look(HISTORY + composer).state == "idle"


@settings(max_examples=80, deadline=None)
@given(composers(), st.sampled_from(SPINNERS))
def test_a_spinner_above_or_below_a_composer_is_work(composer: str, spinner: str) -> None:
    assert look(HISTORY + spinner + "\n\n" + composer).state == "working"
    assert not surely_waits(look(f"{HISTORY}{composer}\n{spinner}"))


@settings(max_examples=60, deadline=None)
@given(marks, composers(), st.sampled_from(SPINNERS))
def test_an_answered_menu_that_stays_is_stale(mark: str, composer: str, spinner: str) -> None:
    menu = MENU.format(mark=mark)
    assert look(menu).state == "waiting"
    assert look(f"{menu}\n{spinner}\n\n{composer}").state == "working"
    assert look(f"{menu}\n{HISTORY}{composer}").state == "idle"


@settings(max_examples=60, deadline=None)
@given(composers(), st.sampled_from(["| ", "“", "# ", "- "]))
def test_a_quoted_menu_above_a_composer_is_none(composer: str, quote: str) -> None:
    quoted = "".join(quote + row + "\n" for row in MENU.format(mark="❯").splitlines())
    assert not surely_waits(look(quoted + "\n" + composer))


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("model-x · ~/proj · waiting · permission", "permission"),
        ("permission: pending", "permission"),
        ("model-x · ~/proj · waiting · input", "question"),
    ],
)
def test_a_status_line_tells_what_its_card_would_and_never_surely(status: str, kind: str) -> None:
    verdict = look(f"{HISTORY}⠙ Running npm test\n\n────────────\n> \n────────────\n{status}")
    assert (verdict.state, verdict.kind, verdict.certainty) == ("waiting", kind, "maybe")


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("Chatting with model-x\n> hi\nHello! How can I help?\n> ", "idle"),
        ("Welcome (model: model-x)\n\nacme> ", "idle"),
        ("Python 3.12.3 (main)\n>>> print('model: x')\nmodel: x\n>>> ", "waiting"),
        ("sqlite> ", "waiting"),
    ],
)
def test_the_prompt_of_a_chat_is_idle_that_of_an_interpreter_waits(text: str, state: str) -> None:
    rows = text.split("\n")
    screen = Screen.from_text(text, cursor=(len(rows[-1]), len(rows) - 1), size=(80, 24), cursor_visible=True)
    assert judged(ENGINE, Snapshot(screen=screen)).state == state
