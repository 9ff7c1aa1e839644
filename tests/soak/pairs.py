"""Two prompts in a row: single keys, lines and line editors, then a grave one whose default is yes.

One answer must not answer both.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count, cycle, islice
from pathlib import Path
from typing import Callable

from attrs import frozen
from queued import Desk
from stallkit_operator.answering import answer_item
from stallkit_operator.item import Who
from stallkit_operator.queue import Queue
from stallkit_operator.queue_sync import draft_of
from stallkit_sessions.runs.run import Run as Started
from stallkit_supervisor.notification import subject_of
from terminals import wait_for

from soak import two_prompts
from soak.parts import Figure, Part, Run
from soak.tmuxes import SoakServer
from stallkit.detect.engine import Engine
from stallkit.packs.registry import installed_engine
from stallkit.press.check import observe
from stallkit.press.gate import answer, press
from stallkit.press.policy import Press
from stallkit.terminal.keys import Keys
from stallkit.transports.targets import open_target
from stallkit.transports.tmux.pane import TmuxTransport

AT_ONCE = 4
AFTER_S = 0.5  # in which a second question would be seen to be answered
FORMS = tuple(two_prompts.FORMS)
NOT_ASKED = ("a machine's press at three keys",)  # its letter and Enter are two


@frozen
class Stage:
    server: SoakServer
    folder: Path
    engine: Engine
    desk: Desk


@frozen
class Pair:
    """One pair: which form the first question has, and who answers it how."""

    number: int
    form: str
    way: str

    @property
    def shows(self) -> str:
        return "(y/n)" if self.form == "two keys" else "]"

    @property
    def text(self) -> str:
        return "yes" if self.form == "three keys" or self.number % 3 == 0 else "y"


def _begun(stage: Stage, pair: Pair, command: list[str]) -> TmuxTransport:
    return stage.server.start(f"p{pair.number}", *command, shows=pair.shows)


def _machine(stage: Stage, pair: Pair, command: list[str]) -> str:
    """The keys that the signature gives, whatever a policy would say of it."""
    transport = _begun(stage, pair, command)
    for _ in range(20):
        verdict, seen = observe(transport, stage.engine)
        if verdict.match is not None:
            keys = None if verdict.match.signature.dismissal else Keys.parse("y Enter")
            return press(transport, Press(verdict.match.signature, keys), seen, stage.engine).why
    return "no signature matched"


def _given(stage: Stage, pair: Pair, command: list[str]) -> str:
    transport = _begun(stage, pair, command)
    verdict, seen = observe(transport, stage.engine, watch_s=3)
    if verdict.match is None:
        return "no signature matched"
    return press(transport, Press(verdict.match.signature, Keys.line(pair.text)), seen, stage.engine).why


def _person(stage: Stage, pair: Pair, command: list[str]) -> str:
    transport = _begun(stage, pair, command)
    _, seen = observe(transport, stage.engine, watch_s=3)
    given = Keys.parse(f"{pair.text} Enter") if pair.number % 2 else pair.text
    return answer(transport, given, seen, stage.engine).why


def _queue(stage: Stage, pair: Pair, command: list[str]) -> str:
    name = f"p{pair.number}"
    transport = _begun(stage, pair, command)
    verdict, seen = observe(transport, stage.engine, watch_s=3)
    topic = subject_of(verdict)
    if topic is None:
        return "nothing to file"
    with closing(Queue(stage.folder / f"{name}.db")) as queue:
        item = queue.file(draft_of(f"tmux:{name}", topic, verdict, seen))
        reach = lambda item: open_target(item.session, stage.server.options)  # noqa: E731
        return answer_item(queue, item.id, pair.text, Who("ada", "a test"), lambda: stage.engine, reach).why


def _run(stage: Stage, pair: Pair, command: list[str]) -> str:
    started = Started.start(command, engine=stage.engine)
    try:
        wait_for(lambda: pair.shows in started.poll().screen.text, "the first question")
        why = started.answer(pair.text).why
        time.sleep(AFTER_S)
        return why
    finally:
        started.stop()


def _attach(stage: Stage, pair: Pair, command: list[str]) -> str:
    began = stage.desk("run", "--background", "--json", "--", *command)
    id = began.stdout.partition('"id": "')[2].partition('"')[0]
    wait_for(lambda: '"waiting"' in stage.desk("attach", id, "--json").stdout, f"{id} to wait: {began}")
    done = stage.desk("attach", id, "--wait", "--timeout", "1", "--answer", pair.text)
    time.sleep(AFTER_S)
    stage.desk("attach", id, "--stop")
    return done.stderr or done.stdout


WAYS: dict[str, Callable[[Stage, Pair, list[str]], str]] = {
    "a machine's press": _machine,
    "a machine's keys from the prompt": _given,
    "a person's answer": _person,
    "a reply through the queue": _queue,
    "Run.answer": _run,
    "attach --answer": _attach,
}


def soak(run: Run) -> list[Figure]:
    server, done = SoakServer(run.folder), count(1)
    stage = Stage(server, run.folder, installed_engine(), Desk(run.folder))
    every = [(form, way) for form in FORMS for way in WAYS]
    pairs = [Pair(number, *chosen) for number, chosen in enumerate(islice(cycle(every), run.size))]

    def one(pair: Pair) -> tuple[Pair, str, str]:
        file = run.folder / f"{pair.number}.told"
        file.touch()
        command = [sys.executable, "-I", two_prompts.__file__, str(file), pair.form]
        why = WAYS[pair.way](stage, pair, command)
        time.sleep(AFTER_S)
        run.tell(next(done))
        return pair, why, file.read_text()

    try:
        server.tmux("new-session", "-d", "-s", "keeper", "sleep", "1000")
        with ThreadPoolExecutor(AT_ONCE) as threads:
            told = list(threads.map(one, pairs))
    finally:
        server.end()
    both = [f"{pair.way} at {pair.form}: {heard.split()}" for pair, _, heard in told if "second" in heard]
    not_first = [f"{pair.way} at {pair.form}: {why.strip()}" for pair, why, heard in told if "first" not in heard]
    unanswered = [one for one in not_first if not one.startswith(NOT_ASKED)]
    return [
        Figure("second prompts answered", _of(both, told), "0", not both),
        Figure("first prompts not answered", _of(unanswered, told), "0", not unanswered),
    ]


def _of(found: list[str], told: list[tuple[Pair, str, str]]) -> str:
    return "; ".join([f"{len(found)} of {len(told)}", *found])


PART = Part(__doc__, "pairs of prompts", full=216, short=24, soak=soak)
