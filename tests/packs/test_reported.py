"""What public bug reports show, and screens of the same kinds by other programs: every state and kind is right.

`same-kinds.jsonl` was drawn by hand before anything was mended for the reports; 32 of its 46 states were right then.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve
from looks import reads
from stallkit_lab.evaluate.backends import EvalOptions, evaluate_paths

from stallkit import Engine, ProcessFacts, Screen, Snapshot, judge
from stallkit.detect.signature import Kind, State
from stallkit.evidence.agents import asked
from stallkit.packs.registry import installed
from stallkit.press.policy import CAREFUL, Choose, Policy, Press
from stallkit.press.policy_file import DAEMON
from stallkit.press.rules import Rule, Scene
from stallkit.terminal.text import cells
from stallkit.testing.example import examples, unfound_under

REPORTED = sorted((Path(__file__).parents[1] / "corpus" / "reported").glob("*.jsonl"))
CLAUDE = "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"
# The words of the source's list alone, without the rest of their dialogs.
ALONE = {
    "workspace_trust": ["Quick safety check\nYes, I trust", "Quick safety check\n❯ 1. Yes, I trust"],
    "effort_level": ["Effort in Opus", "Effort in Opus\n❯ medium", "Hi.\n\nEffort in Opus 5.5\n\n❯ High"],
    "effort_level_alt": ["Use high effort", "Hi.\n\n❯ 1. Use high effort"],
    "compact_mode": ["compact mode\n❯ ", "compact mode\n❯", "Switch to compact mode?\n❯ ", "Try compact mode?\n❯ yes"],
    "permission_dialog": ["Allow?", "Bash: git push\nAllow? [y/N]"],
    "ask_user_question": ["Hi\n? Which approach\n\n❯ Rewrite\n  Patch"],
}
# Under what is fixed to the foot, a dialog at any height; and the same rows where something of them takes keys.
MENU = ["? Which one", "", "❯ 1. Yes", "  2. No", "", "Esc to cancel"]
FEET = [["  2 tasks", "  ◻ one", "  ◼ two"], ["  +28 files edited (show)"], ["╭ Plan ─╮", "│ ☒ one │", "╰───────╯"]]
ALIVE = [["╭────╮", "│ >  │", "╰────╯"], ["⠙ Running (3s)"], ["❯ "], ["┃  Ask it", "┃"]]


def test_every_reported_screen_is_told_right() -> None:
    cases = evaluate_paths(REPORTED, installed().packs, EvalOptions()).predictions
    assert len(cases) == 58
    wrong = [
        (one.id, one.state, one.kind) for one in cases if not one.right or (one.waits and one.kind is not one.true_kind)
    ]
    assert wrong == []


@pytest.mark.parametrize("cursor", [None, (2, 2), (0, 39)], ids=str)
def test_a_tail_counts_from_above_what_is_fixed_to_the_foot(cursor: tuple[int, int] | None) -> None:
    def shown(foot: list[str], gap: int, rows: int = 40) -> Screen:
        top = ["●"] * (rows - len(MENU) - gap - len(foot)) + MENU
        text = "\n".join([*top, *[""] * gap, *foot])
        return Screen.from_text(text, cursor=cursor, size=(80, rows), cursor_visible=False)

    for gap in (3, 7, 20):
        for foot in FEET:
            assert shown(foot, gap).tail(1).text == "Esc to cancel", (foot, gap)
    for foot in ALIVE:
        assert shown(foot, 7).tail(1).text == foot[-1].rstrip(), foot
    near = shown(FEET[0], 1)
    assert near.tail(1).text == FEET[0][-1], "text may stand right below a footer"
    assert evolve(near, alternate=True).tail(1).text == "Esc to cancel", "but not where a program draws all rows"
    seen = Screen.from_text("\n".join([*MENU, *[""] * 20, *FEET[0]]), cursor=(3, 28), cursor_visible=True)
    assert seen.tail(1).text == FEET[0][-1], "somebody types there"


def test_the_six_first_signatures_are_found_by_their_words_alone_and_not_pressed(engine: Engine) -> None:
    rule = Rule(do="press", signature="claude_code:*", session="tmux:one")
    policies = (evolve(CAREFUL, trust=["/"]), evolve(DAEMON, trust=["/"]), Policy("all", rules=[rule], trust=["/"]))

    def presses(text: str, policy: Policy) -> bool:
        screen = Screen.from_text(text, cursor=(0, text.count("\n")), size=(80, 24), cursor_visible=False)
        look = Snapshot(screen, alive=True, accepts_keys=True, process=ProcessFacts("claude"), target="tmux:one")
        look = evolve(look, kernel=reads("claude", CLAUDE), quiet_s=9.0)
        decision = policy.decide(judge(asked(engine, look), look, [look]), Scene.of(look))
        return isinstance(decision, Press | Choose)

    for id, texts in ALONE.items():
        for text in texts:
            match = engine.detect(text).match
            assert match is not None and (match.pack.name, match.signature.id) == ("claude_code", id), (text, match)
            assert not [policy.name for policy in policies if presses(text, policy)], text
    assert presses("Effort in Opus\n\n❯ Use medium effort\n  Use low effort", CAREFUL), "the whole dialog is"


def test_each_hit_is_found_where_each_program_of_its_pack_runs() -> None:
    """A pack is not asked where none of its programs runs, as the kernel says."""
    engine, lost = Engine.default(), list[tuple[str, str, str, str]]()
    for pack in engine.packs:
        for hit in examples(f"stallkit_{pack.name}"):
            if hit.wanted and not hit.todo and (name := unfound_under(engine, pack, hit)):
                lost.append((pack.name, hit.signature, hit.name, name))
    assert lost == []


@pytest.mark.parametrize("visible", [True, None, False])
def test_what_has_keys_keeps_them_whatever_agent_is_there(engine: Engine, visible: bool | None) -> None:
    """A heartbeat's words exactly, of which a signature of the agent's own took one."""
    words = ["Press Enter to continue", "press enter", "Press any key to continue", "Continue?", "Go on? [y/N]"]
    for text in [*words, " Press Enter to continue…", "Do you want to proceed?", "Shall I continue?"]:
        screen = Screen.from_text(text, cursor=(len(text), 0), size=(80, 24), cursor_visible=visible)
        for agent in ("claude", "codex", "node"):
            match = asked(engine, Snapshot(screen, kernel=reads(agent, f"/usr/bin/{agent}"))).match
            assert match is not None and match.signature.dismissal is not None, (text, agent, match)


@pytest.mark.parametrize("seen", [True, False])
def test_a_hint_of_what_runs_on_is_no_prompt(engine: Engine, seen: bool) -> None:
    """Not where its program reads single keys and rests, either."""
    for hint in ("press h + enter to show help", "[watch] press Return to rerun", "Press r to restart"):
        for text in (hint, f"{hint}\n"):
            row = text.count("\n")
            screen = Screen.from_text(text, cursor=(0 if row else len(text), row), size=(80, 24))
            look = Snapshot(screen, kernel=reads("node", "/srv/vite.js") if seen else None, quiet_s=9.0)
            verdict = judge(engine.detect(screen), look, [look])
            assert verdict.state is State.WORKING, (text, verdict)


def test_secrets_are_told_in_the_languages_of_sudo_and_pam(engine: Engine) -> None:
    lines = ["[sudo] heslo pro ada: ", "[sudo] lösenord för ada: ", "[sudo] password par ada: ", "[sudo] ada 암호: "]
    lines += ["Heslo: ", "Lösenord: ", "Adgangskode: ", "Jelszó: ", "Parola: ", "Şifrə: ", "Mật khẩu: ", "סיסמה: "]
    lines += ["Nové heslo: ", "Nuvarande lösenord: ", "Slaptažodis: ", "Пароль: ", "Лозинка: ", "Pasahitza: ", "密码："]
    for line in lines:
        match = engine.detect(Screen.from_text(f"$ su\n{line}", cursor=(cells(line), 1))).match
        assert match is not None and match.signature.kind is Kind.SECRET, line
