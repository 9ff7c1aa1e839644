"""What agents do while their model is silent: CPU time, connections, and when stallkit says that they are hung.

    python corpora/agents/silence.py --bin DIR [--mode silent] [--for 200] [--after 180] [AGENT ...]

DIR holds the programs, each in its own folder with its `node_modules`.  The model accepts the request and then, by the
mode: ``silent`` sends nothing, ``stream`` the head of its answer alone, ``pings`` a comment each 10 s, ``tool`` calls a
shell that sleeps (keys that allow it are pressed).  A sample every 5 s.  At the end Escape is pressed once, by
the gate where it does so, and what the session does then is told.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from answers import call  # the modules beside this file
from turns import AT_WORK, Turns
from turns_model import Model, main_loop, suggests

from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.judge import judged
from stallkit.packs.registry import installed_engine
from stallkit.press.gate import press
from stallkit.press.hang import HUNG_AFTER_S, HangDetector, activity_sample, hung_now
from stallkit.press.policy import Interrupt
from stallkit.probes.activity import Activity
from stallkit.transports.base import look

EACH_S, PING_S, ESCAPE_S = 5.0, 10.0, 15.0
TRIES = 5  # of a press: a spinner may be drawn anew at that very moment
TOOL = "printf waiting; sleep 3600"


class SilentModel(Model):
    """Answers as `Model` does until it has a mode."""

    def __init__(self, protocol: str) -> None:
        self.mode, self.over = "", threading.Event()
        super().__init__(protocol)

    def open(self) -> None:
        answers, model = self._handler, self

        class Silent(answers):  # type: ignore[misc, valid-type]  # the class is chosen at run time
            def do_POST(self) -> None:
                asked = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                said = json.loads(asked or b"{}")
                self.rfile = io.BytesIO(asked)
                if model.mode in ("", "tool") or not main_loop(said) or suggests(said):
                    super().do_POST()
                    return
                if model.mode != "silent":
                    self.send_response(200)
                    self.send_header("Content-Type", "text/event-stream")
                    self.end_headers()
                while not model.over.wait(PING_S):
                    if model.mode == "pings":
                        self.wfile.write(b": ping\n\n")
                        self.wfile.flush()
                self.close_connection = True

        self._handler = Silent
        super().open()
        self._handler = answers

    def _steps(self, said: str, results: int, tools: list[dict[str, Any]], asked: str) -> Any:
        if self.mode != "tool" or not (called := call("sleep", tools, "")):
            yield from super()._steps(said, results, tools, asked)
            return
        name, arguments = called
        slept = {
            key: TOOL if value == "printf waiting; sleep 45" else [TOOL] if "sleep 45" in str(value) else value
            for key, value in arguments.items()
        }
        yield "I'll do that now.\n"
        yield name, slept


class SilentTurns(Turns):
    """One agent at work for a model that falls silent."""

    def follow(self, mode: str, for_s: float, after_s: float) -> None:
        engine, transport = installed_engine(), self.stage.transport
        self.model.mode = mode
        if mode == "tool":
            self.model.reply = {"tool": "Bash", "input": {"command": TOOL, "description": "Sleep"}}
        self.stage.type("go on")
        time.sleep(0.5)
        self.stage.keys("Enter")
        time.sleep(2.5)
        if mode == "tool":
            self._allow()
        before: Snapshot | None = None
        watchdog: HangDetector | None = None
        began, said, fastest, tree = time.monotonic(), None, 0.0, ""
        while time.monotonic() < began + for_s:
            seen = look(transport)
            verdict = judged(engine, seen, before)
            spent = time.process_time()
            found = activity_sample(verdict, seen)
            spent = time.process_time() - spent
            now = time.monotonic()
            last = watchdog.seen.activity if watchdog and watchdog.seen else None
            since = watchdog.since if watchdog else None
            watchdog = watchdog.then(now, found) if watchdog else HangDetector.begin(now, found)
            hung = watchdog.hung(after_s)
            activity = found.activity if found else None
            rates = cores(last, activity)
            if last is not None:
                fastest = max([fastest, *(rate for _, rate in rates)])
            if activity and (shape := ", ".join(shown(activity))) != tree:
                tree = shape
                self.tell(f"{now - began:5.0f} s: {tree}")
            if hung and said is None:
                said = now - began
                self.tell(f"{said:5.0f} s: HUNG since {hung.since_s:.0f} s: {'; '.join(hung.evidence)}")
            if since != watchdog.since or found is None or int(now - began) % 60 < EACH_S:
                busy = ", ".join(f"{name} {rate:.3f}" for name, rate in rates if rate)
                quiet = [round(one.received_s) for one in (activity.connections or ())] if activity else None
                counts = f"{found.elapsed_s} {found.tokens} {found.said_s}" if found else None
                self.tell(
                    f"{now - began:5.0f} s: {verdict.state} {verdict.certainty}, quiet {now - watchdog.since:.0f} s, "
                    f"cores {busy}; received {quiet} s ago; counts {counts}; a sample took {spent * 1000:.1f} ms"
                )
            before = seen
            time.sleep(max(0.0, EACH_S - (time.monotonic() - now)))
        seen = look(transport)
        one = hung_now(judged(engine, seen, look(transport)), seen, after_s)
        self.tell(f"fastest {fastest:.3f} cores in {EACH_S:.0f} s; hung after {said} s; a single check: {one}")
        print(self.stage.screen().rstrip()[-1500:], flush=True)
        self._escape()
        until = time.monotonic() + ESCAPE_S
        while time.monotonic() < until and judged(engine, look(transport)).state == "working":
            time.sleep(0.5)
        left = time.monotonic() - until + ESCAPE_S
        self.tell(f"{left:.1f} s after one Escape: {judged(engine, look(transport)).state}")
        print("\n".join(self.stage.screen().rstrip().split("\n")[-8:]), flush=True)

    def _escape(self) -> None:
        """Escape once, by the gate where it presses it, else by hand."""
        engine, transport = installed_engine(), self.stage.transport
        for _ in range(TRIES):
            outcome = press(transport, Interrupt("its model is silent"), look(transport), engine)
            if outcome.pressed:
                break
        self.tell(f"the gate's Escape: {outcome.end}, {outcome.why}")
        if not outcome.pressed:
            self.stage.keys("Escape")

    def _allow(self) -> None:
        """Press what allows the tool, where it is asked."""
        time.sleep(5)
        if re.search(
            r"[❯›●].{0,4}(?:1\.|Yes|Allow)|Allow once|Permission required|Would you like", self.stage.screen()
        ):
            self.stage.keys("Enter")
            time.sleep(2)

    def tell(self, what: str) -> None:
        print(f"{self.name}: {what}", flush=True)

    def close(self) -> None:
        self.model.over.set()
        super().close()


def cores(before: Activity | None, now: Activity | None) -> list[tuple[str, float]]:
    """How many cores each process used since the sample before."""
    if before is None or now is None or now.at <= before.at:
        return []
    known = {one.key: one.cpu_s for one in before.processes}
    span = now.at - before.at
    return [(f"{one.name}", (one.cpu_s - known[one.key]) / span) for one in now.processes if one.key in known]


def shown(activity: Activity) -> list[str]:
    """Each process, and how many connections there are."""
    named = [f"{one.name}({one.pid}<{one.parent}{', fg' if one.foreground else ''})" for one in activity.processes]
    return [*named, f"connections {None if activity.connections is None else len(activity.connections)}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--mode", choices=["silent", "stream", "pings", "tool"], default="silent")
    parser.add_argument("--for", dest="for_s", type=float, default=200.0)
    parser.add_argument("--after", type=float, default=HUNG_AFTER_S)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("agents", nargs="*", default=list(AT_WORK))
    given = parser.parse_args()

    def play(name: str) -> None:
        turns = SilentTurns(name, given.bin.resolve(), "80x24", SilentModel(AT_WORK[name].model))
        try:
            turns.start()
            turns.follow(given.mode, given.for_s, given.after)
        finally:
            turns.close()

    with ThreadPoolExecutor(given.jobs) as pool:
        for done in [pool.submit(play, name) for name in given.agents]:
            if done.exception():
                print(f"failed: {done.exception()!r}", flush=True)


if __name__ == "__main__":
    main()
