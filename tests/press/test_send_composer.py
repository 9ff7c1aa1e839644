"""Text for an agent's composer in real tmux: typed whole and once, and nowhere else, whatever is shown."""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from itertools import count
from pathlib import Path

import pytest
from attrs import evolve
from composed import ENGINE, SIGNATURE
from terminals import Server

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Clause, Pack
from stallkit.press.send import Sending, Sent, send
from stallkit.transports.tmux.pane import TmuxTransport

TEXT = "touch it with 'care' && \"speed\""
PICTURE = "agent\n{rule}\n> \n{rule}\n  ready\n".format(rule="-" * 40)


class Stage:
    """An agent, or another program, in a tmux server of its own."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self.folder, self.heard = server, folder, folder / "heard"
        self._names = (f"s{number}" for number in count())

    def agent(self, draft: str = "", name: str = "agent", *more: str) -> TmuxTransport:
        program = self.folder / name
        source = Path(__file__).with_name("agent_program.py").read_text()
        program.write_text(f"#!{sys.executable}\n{source}")
        program.chmod(0o755)
        return self.server.start(next(self._names), str(program), str(self.heard), draft, *more, shows="ready")

    def shell(self, command: str) -> TmuxTransport:
        picture = self.folder / "picture"
        picture.write_text(PICTURE)
        told = command.replace("$P", shlex.quote(str(picture)))
        run = f"cd {shlex.quote(str(self.folder))}; PS1='$ '; {told}"
        return self.server.start(next(self._names), "bash", "--norc", "--noprofile", "-c", run, shows="ready")

    @property
    def texts(self) -> list[str]:
        return self.heard.read_text().splitlines() if self.heard.exists() else []


@pytest.fixture
def stage(server: Server, tmp_path: Path) -> Stage:
    return Stage(server, tmp_path)


def pressed(done: Sending) -> bool:
    return done.outcome is not None and done.outcome.pressed


LINES = evolve(
    SIGNATURE,
    all_of=[Clause(pattern=r"^-{8}.*\n>(?: .*)?\n(?:(?:  .*)?\n){0,12}?-{8}", where="tail(20)")],
    composer=evolve(SIGNATURE.composer, lines=True),
)
TAKES_LINES = Engine([Pack(name="agents", foreground={"agent", "python"}, signatures=[LINES])])
SPEED = 8  # of a clock that is waited for in vain


def test_several_lines_are_pasted_where_the_composer_takes_them_and_nowhere_else(stage: Stage) -> None:
    text = "first line\nsecond\n\nfourth one of them is broken at its blanks\nlast"
    agent = stage.agent("", "agent", "pastes")
    for engine, given in ((ENGINE, text), (TAKES_LINES, "\n".join(["line"] * 7))):  # not known, and too long
        done = send(agent, given, engine, wait_s=20)
        assert (done.sent, pressed(done)) == (Sent.REFUSED, False), done.why
    done = send(agent, text, TAKES_LINES, wait_s=20)
    assert (done.sent, stage.texts) == (Sent.TYPED, [text.replace("\n", "|")]), done.why
    stage.heard.unlink()
    fast = {"clock": lambda: SPEED * time.monotonic(), "sleep": lambda seconds: time.sleep(seconds / SPEED)}
    done = send(stage.agent(), "rm -rf\nbuild", TAKES_LINES, **fast)  # it takes no paste as one
    assert (done.sent, stage.texts) == (Sent.UNSEEN, []), done.why


def test_a_text_is_typed_whole_and_once(stage: Stage) -> None:
    agent = stage.agent()
    texts = [TEXT, "word " * 60 + "end", "1", "Proceed? [y/N]", "-" * 40, "/compact", "# é ü"]
    for text in texts:
        done = send(agent, text, ENGINE, wait_s=20)
        assert done.sent is Sent.TYPED, (text, done.why)
    assert stage.texts == texts


def test_a_draft_is_left_alone_and_a_mode_to_a_person(stage: Stage) -> None:
    done = send(stage.agent(draft="half a thought"), TEXT, ENGINE)
    assert (done.sent, pressed(done), stage.texts) == (Sent.MAYBE, False, [])
    assert "somebody's text" in done.why
    done = send(stage.agent(), "!rm it", ENGINE, wait_s=20)
    assert (done.sent, pressed(done), stage.texts) == (Sent.REFUSED, False, [])


IN_IT = "cat $P; printf '\\033[3;3H'"
READS = "import sys, tty; tty.setraw(0); sys.stdin.read(1)"


PICTURES = [
    "cat $P; exec bash --norc --noprofile -i",
    f"{IN_IT}; PS1= exec bash --norc --noprofile -i",
    f"{IN_IT}; sleep 1000",
    f'{IN_IT}; read -r line; eval "$line"',
    f"printf '\\033[?1049h'; {IN_IT}; read -rsn1",
    f"{IN_IT}; exec {shlex.quote(sys.executable)} -c {shlex.quote(READS)}",
    *(["less $P"] if shutil.which("less") else []),
]


def test_nothing_is_typed_at_a_picture_of_a_composer(stage: Stage) -> None:
    for command in PICTURES:
        done = send(stage.shell(f"printf '\\033[2J\\033[H'; {command}"), TEXT, ENGINE)
        assert not pressed(done), (command, done.why)


def test_nothing_is_typed_into_the_composer_of_another_program(stage: Stage) -> None:
    done = send(stage.agent(name="other"), TEXT, ENGINE)
    assert (pressed(done), stage.texts) == (False, [])
    assert "runs other, not agent" in done.why


def test_nothing_is_typed_for_a_script_that_the_agent_runs(stage: Stage) -> None:
    """One of its own interpreter, which reads the terminal while it shows a composer."""
    agent, picture = stage.folder / "agent", PICTURE + "\x1b[3;3H"
    shown = picture.replace("\n", "\r\n")
    script = f"import sys; print({shown!r}, end='', flush=True); {READS}"
    agent.write_text(f"#!{sys.executable}\nimport subprocess\nsubprocess.run([{sys.executable!r}, '-c', {script!r}])\n")
    agent.chmod(0o755)
    done = send(stage.server.start("a", str(agent), shows="ready"), TEXT, ENGINE)
    assert not pressed(done), done.why
    assert "not one that pack agents names" in done.why
