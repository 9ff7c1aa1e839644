"""An engine of one signature of each sort, and a screen of one line, for tests of a check and of a dismissal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from looks import ONE_LINE, SIZE

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Clause, Dismissal, Pack, Signature
from stallkit.press.policy import Policy
from stallkit.press.rules import Rule
from stallkit.terminal.screen import Screen


def signature(name: str, clause: Clause, state: str = "waiting", **more: Any) -> Signature:
    return Signature(id=name, title=name, state=state, all_of=[clause], **more)  # type: ignore[arg-type]


ENGINE = Engine(
    [
        Pack(
            name="p",
            signatures=[
                signature("go", Clause(text="[y/N]", where="prompt_line"), kind="confirm", severity="low",
                    dismissal=Dismissal(keys="y", verify_timeout_s=0.0), dialog=ONE_LINE),
                signature("dialog", Clause(text="Which?"), kind="select", severity="medium",
                    dismissal=Dismissal(keys="1", verify_timeout_s=0.0), dialog=ONE_LINE),
                signature("secret", Clause(text="Password:"), kind="secret", severity="low"),
                signature("guess", Clause(text="hmm"), kind="text", certainty="maybe"),
                signature("busy", Clause(text="Working"), "working"),
                signature("composer", Clause(text="Ask"), "idle"),
                signature("quota", Clause(text="limit"), "quota"),
                signature("shell", Clause(text="$ ", where="prompt_line"), "ended"),
                signature("runaway", Clause(pattern="(a|aa)+$"), kind="text"),
            ],
        )
    ]
)  # fmt: skip
# The same prompts as a program's own, and a person's consent to them in one session where any program shows them.
OWN = Engine([Pack(name="acme", foreground=["acme"], signatures=ENGINE.packs[0].signatures)])
ALLOWS = Policy("mine", rules=[Rule(do="press", signature=["p:go", "p:dialog"], session="memory:")])


def allowing(folder: Path, *signatures: str, session: str = "tmux:*", more: str = "") -> str:
    """The path of a policy file in which a person allows these prompts, in sessions of that name."""
    path = folder / "allowing.toml"
    rule = f'[[rule]]\ndo = "press"\nsignature = {[*signatures]}\nsession = "{session}"\n'
    path.write_text(f"{more}\n{rule}")
    return str(path)


def line(text: str) -> Screen:
    """A screen of one line, the cursor behind it."""
    return Screen.from_text(text, cursor=(len(text), 0), size=SIZE)


GO = line("Go? [y/N] ")
