"""Fixed values of every kind that leaves as JSON: no clock, no pids, no pack but its own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Iterator

from attrs import evolve
from stallkit_operator.item import Category, Choice, ChoiceKind, Claim, Delivery, Item, ItemState, Who
from stallkit_operator.item import Source as Asker
from stallkit_sessions import ExitRecord, RunResult
from stallkit_sessions.model import Cause, Sandboxed, Session, Source, Status
from stallkit_sessions.runs.wait_limits import RunStatus

from stallkit import CheckResult, Detection, Engine, Event, Keys, Screen, Snapshot, Verdict, judge
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.evidence.agents import AfterExit
from stallkit.evidence.signal import Guard, Signal
from stallkit.evidence.snapshot import KernelFacts, Member, Standstill, TtyFacts
from stallkit.evidence.turn import EndedTurn, TurnOutcome
from stallkit.judging.verdict import Hung
from stallkit.packs.pack_file import parse_pack
from stallkit.press.check import Status as Found
from stallkit.press.gate import End, Outcome
from stallkit.signals.collect import AskedInside
from stallkit.terminal.screen import Cursor, Size
from stallkit.transports.stream import TerminalReport

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
NOON = datetime(2026, 3, 4, 12, 30, 15, 250_000, tzinfo=UTC)
PACK = parse_pack(
    r"""
format = 1
name = "acme"
foreground = ["acme"]
[[signature]]
id = "run"
title = "acme asks to run a command"
state = "waiting"
kind = "permission"
severity = "high"
all_of = ["Run {command} in {folder}?".PLACE]
edge = ["blank", "top"]
dialog = [
    "Run {command} in {folder}?",
    { option = "Yes", is = "once", selected = true },
    { option = "Yes, always", is = "always" },
    { option = "No", is = "reject" },
]
fields = { command = ["make", "make test"], folder = "path" }
[[signature]]
id = "key"
title = "acme waits for any key"
state = "waiting"
kind = "press_key"
all_of = ["Press any key to go on"]
none_of = ["q to quit"]
[[signature]]
id = "working"
title = "acme works"
state = "working"
all_of = ["Thinking"]
""".replace('"Run {command} in {folder}?".PLACE', '"Run make", " in /srv"'),
    "acme",
    "acme",
)
ENGINE = Engine([PACK])
DIALOG = "It builds.\n\n  Run make test in /srv/shop?\n❯ 1. Yes\n  2. Yes, always\n  3. No\n"
SIGNAL = Signal(
    "acme", State.WAITING, Kind.PERMISSION, "acme", "Run make", {"command": "make", "path": "/srv"}, None, 3.5, 1.0,
    Guard.PROCESS, 4711, "s-1", None,
)  # fmt: skip
FAILED = Signal("title", State.IDLE, error="rate_limit", stale="another program shows it")


def detections() -> Iterator[tuple[str, Detection]]:
    shown = Screen(
        tuple(DIALOG.rstrip("\n").split("\n")),
        cursor=Cursor(2, 3, True),
        size=Size(80, 24),
        alternate=False,
        title=f"acme {TOKEN}",
    )
    yield "dialog", ENGINE.detect(shown)
    yield "nothing", ENGINE.detect("compiling main.c")
    yield "vetoed", ENGINE.detect("q to quit\nPress any key to go on")
    yield "not-described", ENGINE.detect(f"{TOKEN}\nPress any key to go on")
    found = ENGINE.detect("Thinking")
    yield "left", evolve(found, match=None, left=found.match, not_asked=frozenset({"shell", "acme"}))


def verdicts() -> Iterator[tuple[str, Verdict]]:
    for name, found in detections():
        yield name, judge(found, Snapshot(found.screen, target="tmux:w1"))
    found = dict(detections())["dialog"]
    yield (
        "everything",
        Verdict(
            State.WORKING, Certainty.SURE, Kind.PERMISSION, found, ("it says so", f"token {TOKEN}"), (SIGNAL, FAILED),
            EndedTurn(TurnOutcome.FAILED, "It stopped.\nTry again?", "rate_limit", "Try again?", True, False),
            frozenset({"claude", "acme"}), AfterExit.AGENT, "retrying in 3 s", True, True, 1.5,
            Hung(183.26, ("no data", "no child")), "ssh (pid 7) asks: yes?",
        ),
    )  # fmt: skip


def checks() -> Iterator[tuple[str, CheckResult]]:
    for name, verdict in verdicts():
        seen = Snapshot(verdict.detection.screen, target="tmux:w1")
        yield name, CheckResult("tmux:w1", Found.STALLED, verdict, seen)
    verdict = dict(verdicts())["not-described"]
    seen = Snapshot(verdict.detection.screen, target="tmux:w1")
    inside = (
        AskedInside("ssh", 7, "acme", "/dev/pts/9", True, "read", "password:"),
        AskedInside("git", 8, "acme", "/dev/pts/8", False, "poll", None),
    )
    pressed = Outcome(End.CLEARED, "it went away", Keys.parse("Down Enter"))
    yield "pressed", CheckResult("tmux:w1", Found.DISMISSED, verdict, seen, outcome=pressed, inside=inside)
    refused = Outcome(End.REFUSED, "the screen changed")
    yield "refused", CheckResult("tmux:w1", Found.MAYBE, verdict, seen, outcome=refused, resets_at=NOON)
    on_the_second = NOON.replace(microsecond=0)
    yield "resets", CheckResult("tmux:w1", Found.NOT_STALLED, verdict, seen, resets_at=on_the_second)


def runs() -> Iterator[tuple[str, RunResult]]:
    verdict = dict(verdicts())["dialog"]
    seen = Snapshot(verdict.detection.screen, target="pty:1-a")
    yield (
        "waiting",
        RunResult(
            RunStatus.WAITING, "it asks", verdict, seen, f"made\n{TOKEN}\n", 12, 3.14159,
            answers=(Outcome(End.CLEARED, "it went away", Keys.parse("y")), Outcome(End.GONE, "it ended")),
            next={"poll": "stallkit attach r1", "answer": None},
        ),
    )  # fmt: skip
    over = Snapshot(Screen(("done", "", "")), target="pty:1-b", alive=False)
    ended = judge(ENGINE.detect(over.screen), over)
    yield "exited", RunResult(RunStatus.EXITED, "it ended", ended, over, "done\n", 0, 2.0, exit_status=3)
    yield "killed", RunResult(RunStatus.EXITED, "it ended", ended, over, "", 0, 2.0, signal="SIGTERM")
    yield "told", RunResult(RunStatus.MAYBE, "it may", ended, over, "", 0, 2.0, told_fingerprint="0123456789abcdef")


def events() -> Iterator[tuple[str, Event]]:
    yield "plain", Event("escalation", "tmux:w1", {"why": "it asks for a secret", "n": 3, "rows": ["a", "b"]}, NOON)
    yield "secret", Event("x", "tmux:w1", {"why": f"token {TOKEN}", "password": "hunter2", "argv": ["-p", "x"]}, NOON)
    yield "empty", Event("gone", "run:1", {}, NOON.replace(microsecond=0))


def sessions() -> Iterator[tuple[str, Session]]:
    yield "small", Session("w1", "1a2b", ("make", "test"), "/srv", 1_000.0, "b00t")
    yield (
        "large",
        Session(
            "w2", "2b3c", ("acme", "--token", TOKEN, "caf\udce9"), "/srv/\udce9", 1_000.25, "b00t", "docker", "acme:1",
            "stallkit-w2-2b3c", ("--memory", "1g", "-e", f"KEY={TOKEN}"), (("DOCKER_HOST", "unix:///x"),), (8080, 9090),
            True, (80, 24), "name", "/tmp/tmux", "1 2 %3 4", 5, True, True, ("KEY",), ("/srv/.env",),
            Sandboxed("/srv/stuck.toml", 3, True),
        ),
    )  # fmt: skip


def records() -> Iterator[tuple[str, ExitRecord]]:
    known = dict(sessions())
    yield "small", ExitRecord(known["small"], Cause.EXITED, "its program ended", 2_000.0)
    yield (
        "large",
        ExitRecord(
            known["large"], Cause.OUT_OF_MEMORY, f"it used too much {TOKEN}", 2_000.5, 1_000.25,
            Status(Source.EVENT, 137), ("$ acme", f"key {TOKEN}", "Killed"), 1_999.0,
            ({"state": "waiting", "kind": "confirm", "signature": "yes_no", "reasons": ["it asks"]},),
            {"branch": "main", "dirty": 2, "unpushed": None}, {"name": "stallkit-w2-2b3c", "oom": True},
            ({"port": 8080, "pid": 7, "program": "acme"},), 2, "1nc1", ("the event said 137", "dmesg said so"),
        ),
    )  # fmt: skip
    signalled = Status(Source.PANE, signal=9)
    before = evolve(known["small"], id="0a1b", started_at=900.0)
    yield "signalled", ExitRecord(before, Cause.SIGNALLED, "a signal ended it", 950.0, status=signalled)


def reports() -> Iterator[tuple[str, TerminalReport]]:
    one = Member(7, "acme", "S", 120, 3, "acme", "node", "08:01 5 1 2", False, "acme", "/usr/bin/acme", "/srv", 1, 9.5)
    kernel = KernelFacts(
        7, 120, 7, "acme", (one,), (), True, True, "read", "syscall", (one,), 0, False, None, None, "/dev/pts/3", None,
        (7,), None, True, (), (one,), Standstill({7: 40, 8: 2}, 2.5), 4, 4,
    )  # fmt: skip
    yield "known", TerminalReport(7, 1_234.5, 1_700_000_000.25, kernel, TtyFacts(True, True, True, 0))
    yield "unknown", TerminalReport(7, 1_234.5, 1_700_000_000.25, KernelFacts(), TtyFacts())


def items() -> Iterator[tuple[str, Item]]:
    options = (
        Choice("1", "Yes", ChoiceKind.ALLOW_ONCE, "this once", True),
        Choice("2", "No", ChoiceKind.REJECT_ONCE),
        Choice("3", f"else {TOKEN}"),
    )
    yield (
        "prompt",
        Item(
            1, "tmux:w1", Asker.PROMPT, "permission", "Run make?", options, "a" * 16, "b" * 16, "1 2 %3 4",
            1_700_000_000.5, None, ItemState.INPUT_REQUIRED, told=2, told_at=1_700_000_060.0, asked="Run make?",
            questions=2, several=True,
        ),
    )  # fmt: skip
    yield (
        "notice",
        Item(
            2, "web", Asker.AGENT, None, "npm is refused\nWhat now?", (), "", "", "", 1_700_000_000.0, 1_700_003_600.0,
            ItemState.ANSWERED, "ada", 1_700_000_100.0, "command line", "use yarn",
            Claim(Who("ada", "command line"), 7, 120, "b00t", "t0ken"), category=Category.EGRESS,
            delivery=Delivery.KEPT, revision=3, server="/tmp/tmux",
        ),
    )  # fmt: skip
