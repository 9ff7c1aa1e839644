"""stallkit tells a terminal session that waits for a key from one that works, and says which prompt it is.

>>> from stallkit import Engine, Screen
>>> detection = Engine.default().detect(Screen.from_text("Proceed? [y/N] "))
>>> detection.match.signature.kind
<Kind.CONFIRM: 'confirm'>

Each public name is loaded when it is first used, so that importing stallkit costs little.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stallkit.old_names import MOVED, give_back, moved

if TYPE_CHECKING:
    from stallkit.detect.dialog import Dialog as Dialog
    from stallkit.detect.engine import Detection as Detection
    from stallkit.detect.engine import Match as Match
    from stallkit.detect.signature import Certainty as Certainty
    from stallkit.detect.signature import Clause as Clause
    from stallkit.detect.signature import Dismissal as Dismissal
    from stallkit.detect.signature import Kind as Kind
    from stallkit.detect.signature import Pack as Pack
    from stallkit.detect.signature import Severity as Severity
    from stallkit.detect.signature import Signature as Signature
    from stallkit.detect.signature import State as State
    from stallkit.errors import ConfigError as ConfigError
    from stallkit.errors import KeysRefused as KeysRefused
    from stallkit.errors import PackError as PackError
    from stallkit.errors import SessionGone as SessionGone
    from stallkit.errors import StallkitError as StallkitError
    from stallkit.errors import TransportError as TransportError
    from stallkit.evidence.snapshot import ProcessFacts as ProcessFacts
    from stallkit.evidence.snapshot import Snapshot as Snapshot
    from stallkit.jsonio import dump as dump
    from stallkit.jsonio import load as load
    from stallkit.jsonio import schema as schema
    from stallkit.judging.judge import judge as judge
    from stallkit.judging.verdict import Verdict as Verdict
    from stallkit.packs.registry import Engine as Engine
    from stallkit.packs.registry import hookimpl as hookimpl
    from stallkit.packs.registry import load_pack as load_pack
    from stallkit.press.check import CheckResult as CheckResult
    from stallkit.press.check import Status as Status
    from stallkit.press.check import check as check
    from stallkit.press.check import check_async as check_async
    from stallkit.press.check import dismiss as dismiss
    from stallkit.press.check import may_press as may_press
    from stallkit.press.events import Event as Event
    from stallkit.press.events import EventLog as EventLog
    from stallkit.press.gate import Outcome as Outcome
    from stallkit.press.policy import Choose as Choose
    from stallkit.press.policy import Decision as Decision
    from stallkit.press.policy import Escalate as Escalate
    from stallkit.press.policy import Ignore as Ignore
    from stallkit.press.policy import Policy as Policy
    from stallkit.press.policy import Press as Press
    from stallkit.press.policy import Restart as Restart
    from stallkit.press.policy import Resume as Resume
    from stallkit.press.policy import Stop as Stop
    from stallkit.press.policy import Wait as Wait
    from stallkit.press.policy_file import load_policy as load_policy
    from stallkit.press.rules import Rule as Rule
    from stallkit.press.send import send as send
    from stallkit.press.send import wait_until_ready as wait_until_ready
    from stallkit.probes.foreground_job import probed as probed
    from stallkit.terminal.keys import Keys as Keys
    from stallkit.terminal.screen import Screen as Screen
    from stallkit.transports.base import Options as Options
    from stallkit.transports.base import Transport as Transport
    from stallkit.transports.memory import MemoryTransport as MemoryTransport
    from stallkit.transports.pexpect import PexpectTransport as PexpectTransport
    from stallkit.transports.pty import PtyTransport as PtyTransport
    from stallkit.transports.stream import StreamTransport as StreamTransport
    from stallkit.transports.targets import open_target as open_target

_HOMES = {
    "stallkit.detect.dialog": "Dialog",
    "stallkit.detect.engine": "Detection Match",
    "stallkit.terminal.keys": "Keys",
    "stallkit.terminal.screen": "Screen",
    "stallkit.detect.signature": "Certainty Clause Dismissal Kind Pack Severity Signature State",
    "stallkit.evidence.snapshot": "ProcessFacts Snapshot",
    "stallkit.errors": "ConfigError KeysRefused PackError SessionGone StallkitError TransportError",
    "stallkit.jsonio": "dump load schema",
    "stallkit.judging.judge": "judge",
    "stallkit.judging.verdict": "Verdict",
    "stallkit.packs.registry": "Engine hookimpl load_pack",
    "stallkit.press.check": "CheckResult Status check check_async dismiss may_press",
    "stallkit.press.policy": "Choose Decision Escalate Ignore Policy Press Restart Resume Stop Wait",
    "stallkit.press.events": "Event EventLog",
    "stallkit.press.gate": "Outcome",
    "stallkit.press.policy_file": "load_policy",
    "stallkit.press.rules": "Rule",
    "stallkit.press.send": "send wait_until_ready",
    "stallkit.probes.foreground_job": "probed",
    "stallkit.transports.base": "Options Transport",
    "stallkit.transports.memory": "MemoryTransport",
    "stallkit.transports.pexpect": "PexpectTransport",
    "stallkit.transports.pty": "PtyTransport",
    "stallkit.transports.stream": "StreamTransport",
    "stallkit.transports.targets": "open_target",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
__all__ = sorted(_HOME_OF)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name in MOVED:
        return moved(name)
    if name not in _HOME_OF:
        raise AttributeError(f"module 'stallkit' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    give_back()
    return value


def __dir__() -> list[str]:
    return __all__
