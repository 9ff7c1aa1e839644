"""Agents in tmux whose model refuses: overloaded, unavailable, gone, over a limit; each screen on the way, as a case.

    python corpora/agents/refused.py --bin DIR --out FILE [--size 80x24] [--refusal NAME ...] [AGENT ...]

`label.asks_again` is whether the model was asked again after the look: what the agent does, not what its screen says.
`label.says` is whether a row below the user's message speaks of it, by a plain search for words that a person checks.
The state is *working* while it asks again, *quota* where the refusal is a limit that the screen names, and *idle* or
*quota* once it gave up; the last screen of one that had not given up is not saved.  A third of the cases, by a hash of
their ids, is set aside (`label.aside`).
"""

from __future__ import annotations

import argparse
import json
import re
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
QUIET_S, UP_TO_S = 45.0, 150.0  # without a request, and a screen that rests: it gave up
ASKED = "fix the helper"
AGAIN = re.compile(r"retry|reconnect|attempt|trying", re.IGNORECASE)
LIMIT = re.compile(r"limit|quota|429", re.IGNORECASE)


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
        self.stage.type(ASKED)
        time.sleep(0.5)
        self.stage.keys("Enter")
        found: list[dict[str, Any]] = []
        for number, seconds in enumerate(LOOKS_S):
            time.sleep(seconds)
            found.append({**self.case({"id": f"{name}-{number}", "ended_turn": None}), "asked": self.asked()})
        asked, gave_up = self._at_rest()
        if gave_up:
            found.append({**self.case({"id": f"{name}-end", "ended_turn": "failed"}), "asked": asked})
        for one in found:
            again = one.pop("asked") < asked or (bool(refusal.get("closed")) and not (gave_up and one is found[-1]))
            below = re.split(rf"^.*{ASKED}.*$", one["screen"], flags=re.MULTILINE)[-1]
            named = limit and (not again or bool(LIMIT.search(below)))
            one["label"] = {
                "state": "quota" if named else "working" if again else "idle",
                "kind": None,
                "refusal": name,
                "asks_again": again,
                "says": again and bool(AGAIN.search(below)),
                "aside": turns.hashed(one["id"]) % 3 == 0,
            }
        if refusal.get("closed"):
            self.model.open()
        return found

    def _at_rest(self) -> tuple[int, bool]:
        """Waits until it asks no more; how often it had asked, and whether it gave up."""
        until, asked, since = time.monotonic() + UP_TO_S, self.asked(), time.monotonic()
        screen = ""
        while time.monotonic() < until and time.monotonic() - since < QUIET_S:
            time.sleep(1)
            now = self.stage.screen()
            if self.asked() != asked or now != screen:
                asked, screen, since = self.asked(), now, time.monotonic()
        return asked, time.monotonic() < until


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
