"""The tables of docs/reliability.md, from the latest run of each part: `python benchmarks/measured.py PART...`.

`scripts/soak` and `scripts/live` keep every figure of theirs in `measured.json`; here each part has a row with those
that matter most, and how many of its promises it kept.  `missed` prints the promises that were not kept, `figures PART`
all that one part must hold.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence

KEPT = Path(__file__).with_name("measured.json")
_TOLD = "told"  # what such a figure must be: nothing

# What a row says: {the name of a figure} stands for its value, up to the first comma or semicolon.
ROWS: Mapping[str, str] = {
    "injection": "hostile text (controls, tmux commands, shell, invalid UTF-8) typed into tmux 3.1c, 3.3a, 3.5a:"
    " arrived altered {tmux 3.3a: came otherwise}, refused {tmux 3.3a: refused, and nothing arrived}",
    "targets": "confusable names; panes killed, renamed or respawned between look and press:"
    " keys in another pane {keys in a pane or program that was not looked at}",
    "flips": "a harmless screen turns harmful for 20 to 200 ms: keys that met another row"
    " {the prompt's row: keys that met another one}, a terminal without echo {echo off: keys that met another one}",
    "spoofing": "hostile scenes and as many real prompts: bytes in hostile scenes {bytes that came to hostile scenes},"
    " real prompts answered {real prompts answered}",
    "hostile": "28 families of attacks: wrong keys under `careful` {careful: wrong in all}, under `daemon`"
    " {daemon: wrong in all}, under a policy of three rules {rules: wrong in all}",
    "legitimate": "prompts that a policy may answer: answered in an empty pane {answered in an empty pane}, in one with"
    " a day's work {answered in a pane with a day's work}",
    "claude": "Claude Code 2.1.330 and 2.1.332, a scripted model: ready without a person"
    " {2.1.332: ready in a named folder, without a person}, answered from the queue"
    " {2.1.332: a command approved from the queue}",
    "placements": "settings files that an agent or another user placed: had an effect"
    " {placements x commands after which anything had acted}",
    "kills": "kill -9 of a supervisor over ten sessions that ask: pressed twice {prompts pressed twice}, without"
    " a record {presses without a record}, rows lost {acknowledged rows lost or changed}",
    "faults": "store, disk, tmux and clock fail under a supervisor: pressed twice {prompts pressed twice},"
    " ends and stalls missed {ends and stalls that were missed}",
    "machine": "random steps over heartbeat, limits and policy, with crashes: invariants broken {invariants broken}",
    "ends": "tmux sessions end in every way: without a record {ends without a record}, wrong cause"
    " {causes that are not right}",
    "deaths": "containers end in every way, daemons are killed: false exit codes of docker {docker: false codes},"
    " of podman {podman: false codes}",
    "held": "kill -9 of the endpoint while {agents that waited at each} agents wait: messages lost {messages lost},"
    " answers lost {answers lost, or of another message}",
    "crowd": "connections held at once: answered {answered with its own reply} within"
    " {seconds from the replies to all agents} s, memory {most memory of the endpoint}",
    "twice": "prompts answered by two processes at once: another answer than one y"
    " {prompts that got another answer than one y}",
    "escalated": "kill -9 of a supervisor while up to 1,000 prompts wait: never filed {prompts that were never filed},"
    " answers lost {answers lost: the item does not have it}, answered twice {prompts answered twice}",
    "rebuild": "sandboxes rebuilt with a fault each: files lost {files lost}, left unsound {ended in no sound state}",
    "reloads": "routes and hosts edited under load: failed requests in nginx {requests through nginx that failed}, in"
    " tinyproxy, which restarts, {requests through tinyproxy that its restarts failed}; held notices dropped"
    " {held notices that were dropped}",
    "refusals": "requests that must be refused: refused {hostile requests refused}, honest ones between them served"
    " {honest ones beside and after them, served}",
    "matching": "random packs on random screens, beside a plain ordered loop: differences {differences}",
}


def keep(found: Mapping[str, Any]) -> None:
    """Keep what a part found, in place of what it had found before."""
    kept = {**json.loads(KEPT.read_text("utf-8")), found["part"]: found}
    KEPT.write_text("{\n" + ",\n".join(f" {json.dumps(name)}: {_entry(one)}" for name, one in kept.items()) + "\n}\n")


def _entry(found: Mapping[str, Any]) -> str:
    """A part on lines of its own, and so each of its figures: a change is seen in a diff."""
    facts = [f"  {json.dumps(name)}: {_json(value)}" for name, value in found.items() if name != "figures"]
    figures = ",\n".join(f"   {_json(figure)}" for figure in found["figures"])
    return "{\n" + ",\n".join(facts) + f',\n  "figures": [\n{figures}\n  ]\n }}'


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def rows(kept: Mapping[str, Any], parts: Sequence[str]) -> Iterator[str]:
    """A table with a row for each part."""
    yield from _head("part", "size", "what is tried: what came out", "promises kept", "run on")
    for name in parts:
        found = kept[name]
        promises = [holds for _, _, must, holds in found["figures"] if must != _TOLD]
        kept_of = f"{sum(promises)} of {len(promises)}"
        yield f"| `{name}` | {found['size']:,} | {_said(found)} | {kept_of} | {found['date']} |"


def _said(found: Mapping[str, Any]) -> str:
    values = {figure: re.split(r"[,;] ", value)[0] for figure, value, *_ in found["figures"]}
    return re.sub(r"\{(.+?)\}", lambda named: values[named[1]], ROWS[found["part"]])


def missed(kept: Mapping[str, Any]) -> Iterator[str]:
    """Every promise that was not kept."""
    yield from _head("part", "promise", "measured", "must be")
    for name, found in kept.items():
        for figure, value, must, holds in found["figures"]:
            if not holds:
                yield f"| `{name}` | {figure} | {_short(value)} | {must} |"


def figures(found: Mapping[str, Any]) -> Iterator[str]:
    """All that a part must hold."""
    yield from _head("figure", "measured", "must be")
    for figure, value, must, _ in found["figures"]:
        if must != _TOLD:
            yield f"| {figure} | {_short(value)} | {must} |"


def _short(value: str) -> str:
    """A value; of many times in milliseconds the longest.

    >>> _short("2 of 5, 0.1, 17.5 ms after it had changed"), _short("5 of 5; median 3.2 s, slowest 7.4 s")
    ('2 of 5, at most 17.5 ms after it had changed', '5 of 5; median 3.2 s, slowest 7.4 s')
    """
    return re.sub(r"(?:, [\d.]+)*, ([\d.]+ ms )", r", at most \1", value)


def _head(*names: str) -> Iterator[str]:
    yield "| " + " | ".join(names) + " |"
    yield "| --- " * len(names) + "|"


def main(words: Sequence[str]) -> None:
    kept = json.loads(KEPT.read_text("utf-8"))
    match words:
        case ["missed"]:
            lines = missed(kept)
        case ["figures", part]:
            lines = figures(kept[part])
        case _:
            lines = rows(kept, words or list(ROWS))
    print("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
