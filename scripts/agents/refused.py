"""Agents in tmux whose model refuses: overloaded, unavailable, gone, over a limit; each screen on the way, as a case.

    python scripts/agents/refused.py --bin DIR --out FILE [--size 80x24] [--refusal NAME ...] [AGENT ...]

A screen at which the agent goes on to ask its model again is labelled `retrying`: that is what the model heard later,
not what the screen says.  Its state is *working*, or *quota* where the refusal is a limit; once the agent gave up it is
*idle* or *quota*.  A third of the cases, by a hash of their ids, is set aside (`label.aside`).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import turns  # the modules beside this file

REFUSALS: dict[str, dict[str, Any]] = {
    "overloaded": {"status": 503, "anthropic": {"error": "overloaded_error"}, "message": "Overloaded"},
    "server-error": {"status": 500, "error": "server_error", "message": "Internal server error"},
    "closed": {"closed": True},
    "rate-limit": {
        "status": 429,
        "error": "rate_limit_error",
        "message": "Rate limit reached for requests",
        "openai": {"error": "rate_limit_exceeded", "code": "rate_limit_exceeded"},
    },
    "usage-limit": {
        "status": 429,
        "error": "rate_limit_error",
        "message": "You exceeded your current quota",
        "headers": {"x-should-retry": "false"},
        "openai": {"error": "usage_limit_reached", "code": "usage_limit_reached"},
    },
}
LOOKS_S = (2.0, 3.0, 5.0, 8.0)  # between the looks
QUIET_S, UP_TO_S = 45.0, 150.0  # without a request: it gave up


class Refused(turns.Turns):
    """One agent whose requests are refused."""

    def asked(self) -> int:
        """How often its model was asked; a model that is gone hears nothing."""
        return len(self.model.heard)

    def play(self, name: str, refusal: dict[str, Any]) -> list[dict[str, Any]]:
        """The screens on the way, each with whether it asked again, and the one where it gave up."""
        limit = refusal.get("status") == 429
        if self.name == "claude" and name == "overloaded":
            refusal = {**refusal, "status": 529}
        if refusal.get("closed"):
            self.model.close()
        else:
            self.model.reply = refusal
        self.stage.type("fix the retry helper")
        time.sleep(0.5)
        self.stage.keys("Enter")
        found: list[dict[str, Any]] = []
        for number, seconds in enumerate(LOOKS_S):
            time.sleep(seconds)
            found.append({**self.case({"id": f"{name}-{number}", "ended_turn": None}), "asked": self.asked()})
        last = self._at_rest()
        found.append({**self.case({"id": f"{name}-end", "ended_turn": "failed"}), "asked": None})
        for one in found:
            asked = one.pop("asked")
            goes_on = asked is not None and (
                last > asked if not refusal.get("closed") else one["screen"] != found[-1]["screen"]
            )
            state = "quota" if limit else "working" if goes_on else "idle"
            aside = turns.hashed(one["id"]) % 3 == 0
            one["label"] = {"state": state, "kind": None, "retrying": goes_on, "refusal": name, "aside": aside}
        if refusal.get("closed"):
            self.model.open()
        return found

    def _at_rest(self) -> int:
        """Waits until it asks no more; how often it had asked."""
        until, asked, since = time.monotonic() + UP_TO_S, self.asked(), time.monotonic()
        screen = ""
        while time.monotonic() < until and time.monotonic() - since < QUIET_S:
            time.sleep(1)
            now = self.stage.screen()
            if self.asked() != asked or now != screen:
                asked, screen, since = self.asked(), now, time.monotonic()
        return asked


def main() -> None:
    """Plays every agent named, or all, one after another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--size", default="80x24")
    parser.add_argument("--refusal", nargs="*", default=list(REFUSALS), choices=list(REFUSALS))
    parser.add_argument("agents", nargs="*", default=list(turns.AT_WORK))
    given = parser.parse_args()
    turns.FEWER_TRIES.clear()
    for name in given.agents:
        for refusal in given.refusal:
            played = Refused(name, given.bin.resolve(), given.size)
            try:
                played.start()
                cases = played.play(refusal, REFUSALS[refusal])
            finally:
                played.close()
            with given.out.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(case, ensure_ascii=False) + "\n" for case in cases)
            print(f"{name} {given.size} {refusal}: {[case['label']['state'] for case in cases]}", flush=True)


if __name__ == "__main__":
    main()
