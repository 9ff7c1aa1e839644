"""What a signature that matched claims, where something speaks against it; and who ended that no pack names."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Clause, Dismissal, Kind, Pack, Signature
from stallkit.evidence.look import asks_secret
from stallkit.evidence.snapshot import KernelFacts, Member, ProcessFacts, Snapshot
from stallkit.judging.judge import judge
from stallkit.judging.verdict import Verdict
from stallkit.terminal.screen import Screen


def signature(name: str, pattern: str, kind: str, **more: Any) -> Signature:
    return Signature(name, "", "waiting", [Clause(pattern=pattern, where="prompt_line")], kind=kind, **more)


ENGINE = Engine(
    [
        Pack(
            "acme",
            signatures=[
                signature("name", "^User: ?$", "login"),
                signature("new", "^New", "text", preview=True),
                signature("safe", "^Go on", "confirm", dismissal=Dismissal("y")),
                signature("word", "^Name: ?$", "text"),
            ],
        )
    ]
)


def at(text: str) -> Screen:
    return Screen.from_text(text, cursor=(len(text.split("\n")[-1]), text.count("\n")))


def verdict(text: str, foreground: str | None = None) -> Verdict:
    reads = KernelFacts(listening=True, how="read", foreground=foreground)
    look = Snapshot(screen=at(text), process=ProcessFacts(foreground), kernel=reads, quiet_s=1.0)
    return judge(ENGINE.detect(look.screen), look)


def test_where_a_person_writes_messages_no_login_is_asked_for() -> None:
    for text, state, kind in (
        ("User: what else\nThat is all.\nUser: ", "idle", None),
        ("12k tokens | /help\nUser: ", "idle", None),
        ("User: ", "waiting", "text"),
        ("User: ada\nLogin incorrect\nUser: ", "waiting", "text"),
    ):
        found = verdict(text)
        assert (found.state, found.kind) == (state, kind), (text, found.reasons)
    assert "it may be where a person writes messages" in verdict("User: ").reasons


def test_each_doubt_keeps_a_match_from_being_sure_and_is_told() -> None:
    assert verdict("Go on ", "acme").certainty == "sure"
    for text, foreground, why in (
        ("New name ", "acme", "the signature is a preview"),
        ("Go on ", "less", "less is in the foreground: it may be text that is read"),
        ("Go on ", "vim", "vim is in the foreground: it may be text that is being edited"),
    ):
        found = verdict(text, foreground)
        assert found.certainty == "maybe" and any(why in one for one in found.reasons), (text, found.reasons)


def test_what_stands_above_a_persons_name_was_said_in_a_chat() -> None:
    for text, secret in (("The password is wrong\nName: ", True), ("The password is wrong\nUser: ", False)):
        assert asks_secret(ENGINE.detect(at(text)), Kind.TEXT) is secret, text


def test_a_program_that_no_pack_names_ends_too() -> None:
    """Where only what starts others is left, and all is seen."""
    gone, shell = Member(8, "chat", "S", started=2, parent=7), Member(7, "bash", "S", started=1, interactive=False)
    kernel = KernelFacts(pid=1, foreground="bash", members=(shell,), complete=True, looked_at=1)
    for more, ended in (
        ({}, True),
        ({"complete": False}, False),
        ({"members": ()}, False),
        ({"members": (shell, gone)}, False),
        ({"background": (gone,)}, False),
        ({"background": (Member(9, "cc", "R", started=3),)}, False),
        ({"members": (shell, Member(9, "cc", "R", started=3))}, False),
    ):
        look = Snapshot(screen=at("Bye."), process=ProcessFacts("bash"), kernel=evolve(kernel, **more), quiet_s=1.0)
        found = judge(ENGINE.detect(look.screen), look, unnamed=gone)
        assert (found.ended is not None) is ended, (more, found.reasons)
        assert not ended or "chat ended, and bash is there" in found.reasons
