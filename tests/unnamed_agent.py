"""An agent that no pack names, as a program: a chat at ``User:``, or one with its answers in boxes above a gauge.

It answers ``ask ...`` with a question, ``fail ...`` with its server's refusal, and anything else with a report.
"""

from __future__ import annotations

import readline  # noqa: F401  # input reads single keys
import sys
import time

SAID = {
    "ask": "I renamed the helper.\n\nShall I continue with step 2?",
    "fail": "openai.AuthenticationError: Error code: 401 - {'error': {'message': 'Incorrect API key provided: x.'}}",
}
WORKS_S = 1.0
WIDTH = 78


def main(boxed: bool) -> None:
    """Chat until ``/quit``."""
    print(*boxes("skiff 1.2 - model fake-coder - /help") if boxed else ["harbor"], sep="\n")
    while True:
        if boxed:
            print("context ███░░░░░░░░░░░░░░░░░ 15%")
        said = input("❯ " if boxed else "User: ")
        if said == "/quit":
            return
        print("thinking ...", end="\r", flush=True)
        time.sleep(WORKS_S)
        answer = SAID.get(said.split(" ")[0], "I renamed it, and ran the tests: all pass.")
        print(*boxes(answer) if boxed else [answer], sep="\n")


def boxes(text: str) -> list[str]:
    """The rows of a text in a frame."""
    rows = [f"│ {row:{WIDTH - 4}} │" for part in text.split("\n") for row in _folded(part)]
    return [f"╭{'─' * (WIDTH - 2)}╮", *rows, f"╰{'─' * (WIDTH - 2)}╯"]


def _folded(row: str) -> list[str]:
    return [row[at : at + WIDTH - 4] for at in range(0, len(row), WIDTH - 4)] or [""]


if __name__ == "__main__":
    main("--boxed" in sys.argv)
