"""Rules by what is asked: the whole request is named by the rule, or a person decides."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from agent_stand_in import installed_agent
from attrs import evolve
from drawn_dialog import PROGRAM, SCREENS
from looks import reads
from terminals import Server, wait_for

from stallkit import check
from stallkit.cli.policy_commands import replayed
from stallkit.detect.dialog import Dialog, Element, Role
from stallkit.detect.engine import Engine
from stallkit.detect.signature import Clause, Dismissal, Pack, Signature
from stallkit.errors import ConfigError
from stallkit.evidence.snapshot import ProcessFacts, Snapshot, TtyFacts
from stallkit.judging.judge import judged
from stallkit.judging.verdict import Verdict
from stallkit.packs.screenfile import read_screen
from stallkit.press.events import EventLog
from stallkit.press.gate import press
from stallkit.press.policy import CAREFUL, Choose, Escalate, Policy, Press
from stallkit.press.policy_file import DAEMON, load_policy
from stallkit.press.rules import Rule, Scene
from stallkit.terminal.screen import Screen
from stallkit.testing import FakeClock, MemoryTransport

FORM = Dialog(
    ["Run this command?", "{command}", Element(option="Yes", role=Role.ONCE),
     Element(option="Yes, always", role=Role.ALWAYS), Element(option="No", role=Role.REJECT)],
    ["blank", "top"],
    {"command": "command"},
)  # fmt: skip
ASKS = Signature(
    id="run", title="it asks", state="waiting", kind="permission", severity="high", all_of=[Clause(text="Run this")],
    dialog=FORM,
)  # fmt: skip
PACK = Pack("agent", foreground=["agent"], signatures=[ASKS])
ENGINE = Engine([PACK])
REQUEST = {"command": ["git status*", "pytest*", "npm *"]}
RULE = Rule(do="press", kind="permission", agent="agent", request=REQUEST, never=["*rm *"])
POLICY = Policy("night", rules=[RULE])


def screen(command: str, selected: int = 1, options: tuple[str, ...] = ("Yes", "Yes, always", "No")) -> Screen:
    rows = [f"{'❯' if number == selected else ' '} {number}. {text}" for number, text in enumerate(options, 1)]
    text = "\n".join(["Run this command?", f"  {command}", *rows])
    return Screen.from_text(text, cursor=(0, 2), size=(80, 24), cursor_visible=False)


def seen(shown: Screen) -> tuple[Verdict, Snapshot]:
    kernel, process = reads("agent"), ProcessFacts("agent")
    now = Snapshot(shown, process=process, kernel=kernel, tty=TtyFacts(False, False), quiet_s=1.0, target="tmux:a")
    return judged(ENGINE, now), now


def decided(shown: Screen, policy: Policy = POLICY) -> Any:
    verdict, now = seen(shown)
    return policy.decide(verdict, Scene.of(now))


OTHERS = (
    *("git push", "git status; rm -rf ~", "git status\n  rm -rf ~", "git status && x", "pytest $(x)"),
    *("npm run rm -- rm x", "A=b git status", "git status …", "git status > x", "sudo git status"),
)


def test_what_the_rule_names_is_allowed_once_and_everything_else_is_left_to_a_person() -> None:
    for command in ("git status", "git status -s src", "pytest -q tests", "npm test"):
        decision = decided(screen(command))
        assert isinstance(decision, Press) and str(decision.keys) == "Enter", command
        request = seen(screen(command))[0].request
        assert request is not None and request.fields == {"command": command}
    for command, policy in product(OTHERS, (POLICY, CAREFUL, DAEMON)):
        assert isinstance(decided(screen(command), policy), Escalate), (command, policy.name)


def test_only_the_option_for_this_once_is_taken() -> None:
    for selected in (0, 2, 3):
        assert decided(screen("git status", selected)) == Choose(ASKS, "Yes")
    for shown in (
        screen("git status", options=("Yes, always", "No")),
        screen("git status", options=("Yes", "No", "Delete it all")),
    ):
        assert isinstance(decided(shown), Escalate), shown.text


def test_an_option_is_chosen_where_a_rule_names_its_label() -> None:
    wrong = []
    for option, signature, chosen in (
        ("No", "agent:run", "No"),
        ("Yes, always", "agent:run", "Yes, always"),
        ("Yes,*", "agent:run", "Yes, always"),
        ("Yes*", "agent:run", None),  # two of them
        ("no", "agent:run", None),
        ("Maybe", "agent:run", None),
        ("No", "agent:other", None),
    ):
        rule = Rule(do="press", signature=signature, option=option, session="tmux:a")
        decision = decided(screen("anything; at all"), Policy("mine", rules=[rule]))
        if (decision.option if isinstance(decision, Choose) else None) != chosen:
            wrong.append((option, signature, decision))
    assert not wrong


def test_the_rule_holds_where_its_agent_reads_and_nowhere_else() -> None:
    verdict, now = seen(screen("git status"))
    for path, presses in (("/opt/agent", True), ("/usr/bin/bash", False), ("", False)):
        scene = Scene.of(evolve(now, kernel=reads("agent", path)))
        assert isinstance(POLICY.decide(verdict, scene), Press) is presses, path


def test_what_must_never_stand_in_it_is_looked_for_as_a_shell_reads_it() -> None:
    policy = Policy("night", rules=[evolve(RULE, never=("*git status --force*", "*rm *"))])
    assert isinstance(decided(screen("git status -s"), policy), Press)
    quoted = ("git status --fo''rce", 'git status "--for"ce', "git  status  --force", "git status '--'force")
    for command in (*quoted, "npm 'rm' x"):
        assert isinstance(decided(screen(command), policy), Escalate), command


def test_a_command_with_characters_that_nobody_sees_is_left_to_a_person() -> None:
    """A shell sees them: ``git<no-break blank>status`` is the name of another program."""
    for hidden in "\u00a0\u200b\u2028\u202e\u00ad\u3164\U000e0041":
        for command in (f"git{hidden}status", f"git status {hidden}", f"git sta{hidden}tus"):
            assert isinstance(decided(screen(command)), Escalate), command


TRUST = Dialog(["Do you trust this folder?", "{folder}", Element(option="Yes", selected=True), Element(option="No")],
               ["blank", "top"], {"folder": "path"})  # fmt: skip
TRUSTS = Policy("mine", dialogs=True, trust=["/srv/projects"])


FOLDERS = [  # what the dialog shows, where the agent works, and whether it is trusted
    ("/srv/projects", "/srv/projects", True),
    ("/srv/projects/one", "/srv/projects/one", True),
    ("/srv/projects/a long\n  name", "/srv/projects/a long name", True),
    ("/srv/projects/acme\n  -core", "/srv/projects/acme-core", True),
    ("/srv/project\n  s", "/srv/projects", True),
    ("/srv/project\n  s", "/srv/project s", False),
    ("/srv/pro\u200bjects", "/srv/projects", False),
    ("/srv/projects\u202e", "/srv/projects", False),
    ("/srv/projects │", "/srv/projects", False),  # no side of a box: its last row has none
    ("/srv/projects█", "/srv/projects", False),
    ("/srv/projects/one", "/srv/projects/two", False),
    ("/srv/projects/one", "/srv/projects", False),
    ("/srv/projects/one", "/srv/projects/one ", False),
    ("/srv/projects/one", "/srv/projects/one\u200b", False),
    ("/srv/projects/one", None, False),
    ("/srv/other", "/srv/other", False),
    ("/srv/projects2", "/srv/projects2", False),
    ("/srv/projects/../etc", "/srv/etc", False),
]


def test_only_a_folder_that_was_named_and_that_the_process_works_in_is_trusted() -> None:
    found = [(folder, cwd, isinstance(trusting(folder, TRUSTS, cwd), Press)) for folder, cwd, _ in FOLDERS]
    assert found == FOLDERS
    assert isinstance(trusting("/home/me", CAREFUL, "/home/me", started_in="/home/me"), Press)
    assert isinstance(trusting("/home/me", CAREFUL, "/home/me"), Escalate)
    assert isinstance(trusting("/srv/projects", TRUSTS, "/srv/projects", path="/usr/bin/bash"), Escalate)


def test_a_dialog_without_keys_is_answered_by_its_option_for_this_once() -> None:
    options = [Element(option="No, exit", role=Role.REJECT), Element(option="Yes, I trust it", role=Role.ONCE)]
    form = Dialog(["Do you trust this folder?", "{folder}", *options], ["blank", "top"], {"folder": "path"})
    decision = trusting("/srv/projects", TRUSTS, "/srv/projects", form, "❯ No, exit\n  Yes, I trust it")
    assert isinstance(decision, Choose) and decision.option == "Yes, I trust it"


def trusting(
    folder: str,
    policy: Policy,
    cwd: str | None,
    dialog: Dialog = TRUST,
    options: str = "❯ Yes\n  No",
    path: str = "/opt/agent",
    **more: Any,
) -> Any:
    """The decision where the agent asks whether this folder is trusted, and works in `cwd`."""
    keys = Dismissal("Enter", because="a person named it", expect="gone") if dialog is TRUST else None
    asks = Signature(
        id="trust", title="it asks", state="waiting", kind="trust", severity="medium",
        all_of=[Clause(text="Do you trust")], dialog=dialog, dismissal=keys,
    )  # fmt: skip
    text = f"Do you trust this folder?\n  {folder}\n{options}"
    shown = Screen.from_text(text, cursor=(0, 2), size=(80, 24), cursor_visible=False)
    kernel, process = reads("agent", path, cwd), ProcessFacts("agent")
    now = Snapshot(shown, process=process, kernel=kernel, tty=TtyFacts(False, False), quiet_s=1.0, **more)
    engine = Engine([Pack("agent", foreground=["agent"], signatures=[asks])])
    return policy.decide(judged(engine, now), Scene.of(now))


def test_a_rule_names_the_path_and_not_only_what_is_repeated_of_it() -> None:
    """A path decides what the pack of a program presses; a rule that leaves it out would allow any."""
    fields = {"path": "path", "name": {"is": "path", "aside": True}, "times": "number"}
    options = [Element(option="Yes", role=Role.ONCE), Element(option="No", role=Role.REJECT)]
    form = Dialog(["Edit {path} in {times} places", "Do you want to edit {name}?", *options], ["top"], fields)
    asks = evolve(ASKS, all_of=(Clause(text="Do you want"),), dialog=form)
    engine = Engine([Pack("agent", foreground=["agent"], signatures=[asks])])
    text = "Edit /etc/cron.d/notes.md in 2 places\nDo you want to edit notes.md?\n❯ Yes\n  No"
    now = evolve(seen(screen("x"))[1], screen=Screen.from_text(text, (0, 2), (80, 24), cursor_visible=False))
    named = {"name": "notes.md"}
    for request, presses in ((named, False), ({"path": "*.md"}, True), ({**named, "path": "/home/*"}, False)):
        policy = Policy("mine", rules=[Rule(do="press", request=request, agent="any")])
        decision = policy.decide(judged(engine, now), Scene.of(now))
        assert isinstance(decision, Press) is presses, request


def test_it_is_pressed_once_through_the_gate() -> None:
    session = MemoryTransport(screen("git status"), lambda keys: "Working", foreground="agent")
    verdict, now = seen(session.now.screen)
    session.now = evolve(now, alive=True, accepts_keys=True)
    clock = FakeClock()
    outcome = press(session, POLICY.decide(verdict, Scene.of(now)), session.now, ENGINE, clock, clock.sleep)
    assert session.sent == [b"\r"] and outcome


def test_a_policy_file_says_it(tmp_path: Path) -> None:
    file = tmp_path / "night.toml"
    where = '[[rule]]\ndo = "press"\nagent = "any"\n'
    file.write_text(f'{where}request.command = ["git status*", "pytest*", "npm *"]\nnever = "*rm *"\n')
    assert isinstance(decided(screen("pytest"), load_policy(file)), Press)
    file.write_text(f"{where}request.command = []\n")
    with pytest.raises(ConfigError, match=r"request\.command is empty"):
        load_policy(file)
    file.write_text(f'{where}request = "git*"\n')
    with pytest.raises(ConfigError, match="request is not a table"):
        load_policy(file)


def test_a_log_tells_what_a_policy_would_have_done(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl")
    for command in ("git status", "git push", "curl -H 'Authorization: Bearer abcdefghijklmnop1234' x"):
        log.detection(*seen(screen(command)))
    found = list(replayed(log.path, POLICY, ENGINE))
    assert [type(would.decision).__name__ for would in found] == ["Press", "Escalate", "Escalate"]
    assert [would.rule for would in found] == [RULE, None, None]
    assert "abcdefghijklmnop1234" not in log.path.read_text()
    old = json.loads(log.path.read_text().splitlines()[0])
    for key in ("request", "options", "ambiguity"):
        old.pop(key)
    log.path.write_text(json.dumps(old) + "\n")
    assert isinstance(next(replayed(log.path, POLICY, ENGINE)).decision, Escalate), "logged before there were requests"
    log.path.write_text("{}\n")
    with pytest.raises(ConfigError, match="no event"):
        list(replayed(log.path, POLICY, ENGINE))


RULE_LIVE = Rule(do="press", agent="claude", request={"command": ["git status*"]}, never=["*rm *"])
POLICY_LIVE = Policy("night", rules=[RULE_LIVE])


def test_the_command_decides(server: Server, tmp_path: Path) -> None:
    program = installed_agent(tmp_path)
    for name, command, keys in (("a", "git status", b"\r"), ("b", "git status; rm -rf ~", b"")):
        shown = read_screen(SCREENS / "hit-bash-narrow.txt").screen.text.replace("rm -rf build && ls", command)
        screen, heard = tmp_path / f"{name}.screen", tmp_path / f"{name}.heard"
        screen.write_text(shown, encoding="utf-8")
        heard.touch()
        words = [str(program), "-c", PROGRAM, str(heard), str(screen)]
        session = server.start(name, *words, shows="Tab to amend", size=(40, 24))
        result = check(session, POLICY_LIVE)
        assert isinstance(result.decision, Press) is bool(keys), result.decision
        if keys:
            wait_for(lambda session=session: "Working" in session.capture().screen.text, "what it says after a key")
        check(session, POLICY_LIVE)
        assert heard.read_bytes() == keys
