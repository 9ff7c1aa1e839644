"""Counts what `stallkit send` does at real agents, at pictures of their composers, and at drafts.

    python corpora/agents/sending.py --path DIR [--path DIR] [--times 20] [--size 80x24] [AGENT ...]

Each DIR holds programs: `claude`, `codex`, `gemini`, `opencode`, `aider`.  Each agent runs in a tmux server of its own,
against a scripted model on loopback that remembers what it was sent; one agent runs at a time.  A text counts as whole
and once where the model got exactly this text, in one message.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from sending_pictures import drafts, pictures  # the modules beside this file
from sending_stage import AGENTS, Stage

from stallkit.press.send import Sent, send

PATIENCE_S = 60.0  # for an agent that works
TEXTS = [
    "hello, which files are there?",
    "say \"hi\" and 'bye' to $HOME `x` \\n %s {a} [b] <c> #d ~e",
    "日本語のテキストを説明してください。全角文字も、折り返しも。" * 3,
    "한국어 문장과 中文句子 and English in one line",
    "é è ñ ü café naïve Zoë",
    "see @README.md",
    "compare @README.md with the rest",
    "# a heading, then a text",
    "- a dash; a semicolon; a tab is none",
    "an emoji 🙂 in the middle",
    "does (y/n) or 'Do you want to proceed?' stand there",
    "Press Enter to continue",
    "1. Yes",
    "y",
    "a url https://example.org/a?b=c&d=e#f and a path /etc/passwd",
    "'" * 3 + '"' * 3 + "`" * 3,
    "word " * 100 + "end",
    "supercalifragilistic" * 25,
    "x" * 500,
    "wie gehts, läuft der Test? Ja/Nein",
]


def sent_whole(stage: Stage, text: str, since: int) -> int:
    """In how many messages of one request the model got this text; 0 after some seconds without."""
    until = time.monotonic() + 15
    while time.monotonic() < until:
        counts = [sum(_same(said, text) for said in request) for request in stage.model.said[since:]]
        if any(counts):
            return max(counts)
        time.sleep(0.1)
    return 0


def _same(said: str, text: str) -> bool:
    return said.strip() == text or said.startswith(f"{text}\n\n#")  # aider's rules are in the same message


def at_work(name: str, programs: list[Path], size: str, times: int) -> tuple[Counter[str], list[str]]:
    """What became of so many texts, and what was remarkable."""
    counted: Counter[str] = Counter()
    notes = []
    stage = Stage(name, programs, size)
    try:
        version = stage.start()
        for number in range(times):
            text = f"{number} {TEXTS[number % len(TEXTS)]}" if number >= len(TEXTS) else TEXTS[number]
            since, begun = len(stage.model.said), time.monotonic()
            done = send(stage.transport, text, stage.engine, wait_s=PATIENCE_S)
            took = time.monotonic() - begun
            heard = sent_whole(stage, text, since) if done.sent is Sent.TYPED else 0
            result = "whole and once" if heard == 1 else f"{done.sent}, {heard} times whole"
            counted[result] += 1
            if result != "whole and once":
                notes.append(f"{name}: {text[:40]!r}: {result}: {done.why}\n{stage.screen()}")
                stage.keys("C-u")
            counted["seconds"] += round(took)
    finally:
        stage.close()
    return counted, [f"{name} {version}", *notes]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--path", type=Path, action="append", required=True)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--size", default="80x24")
    parser.add_argument("agents", nargs="*", default=list(AGENTS))
    given = parser.parse_args()
    wrong = 0
    for name in given.agents:
        counted, notes = at_work(name, given.path, given.size, given.times)
        drafted, seen = drafts(name, given.path, given.size)
        shown, more = pictures(name, given.path, given.size)
        print(f"{notes[0]}: {dict(counted)}; drafts {dict(drafted)}; pictures {dict(shown)}", flush=True)
        print("\n".join([*notes[1:], *seen, *more]), flush=True)
        wrong += drafted["typed"] + shown["typed"] + (counted["whole and once"] != given.times)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
