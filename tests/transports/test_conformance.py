"""Every transport is held to the protocol by the public suite; and the suite is shown to find what is broken."""

import os
import subprocess
import sys
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Iterator

import pexpect
import pexpect.fdpexpect
import pexpect.popen_spawn
import pytest
from attrs import evolve
from stallkit_supervisor import Supervisor
from terminals import Server

from stallkit import Engine, check, open_target
from stallkit.errors import CaptureTimeout, KeysRefused, SessionGone, TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen
from stallkit.testing import MemoryTransport, check_transport
from stallkit.testing.checks import Session, Stage
from stallkit.transports.base import Moving, Transport, closing_of
from stallkit.transports.pexpect import PexpectTransport
from stallkit.transports.pty import PtyTransport

ACME = Path(__file__).parent.parent / "fixtures" / "acme_transport"


class Staged(Stage):
    """A stage in a terminal that a transport looks at."""

    transport: Transport


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Path]:
    return (folder for number in range(1_000) if (folder := tmp_path / str(number)).mkdir() is None)


def test_pty(folders: Iterator[Path]) -> None:
    @contextmanager
    def make() -> Iterator[Session]:
        stage = Staged(next(folders))
        stage.transport = PtyTransport.spawn(stage.command, name="stage")
        try:
            yield stage
        finally:
            stage.transport.close()

    assert check_transport(make) >= 8


def test_pexpect(folders: Iterator[Path]) -> None:
    @contextmanager
    def make(encoding: str | None) -> Iterator[Session]:
        stage = Staged(next(folders))
        spawn = pexpect.spawn(stage.command[0], stage.command[1:], encoding=encoding)
        spawn.delayafterclose = spawn.ptyproc.delayafterclose = 0  # it would sleep at the end of each check
        stage.transport = PexpectTransport(spawn, name="stage")
        try:
            yield stage
        finally:
            stage.transport.close()
            spawn.close(force=True)

    for encoding in (None, "utf-8"):
        assert check_transport(lambda encoding=encoding: make(encoding)) >= 8


@pytest.mark.e2e
def test_tmux(server: Server, folders: Iterator[Path]) -> None:
    server.start("keeper", "cat")  # so that the server outlives the sessions

    @contextmanager
    def make() -> Iterator[Session]:
        folder = next(folders)
        stage = Staged(folder)
        stage.transport = server.start(f"stage-{folder.name}", *stage.command)
        try:
            yield stage
        finally:
            stage.transport.close()

    assert check_transport(make) >= 8


class Scripted:
    """A memory transport as a session of the suite."""

    def __init__(self, kind: type[MemoryTransport] = MemoryTransport) -> None:
        self.transport = kind("", target="memory:stage")

    def show(self, text: str) -> None:
        self.transport.show(Screen.from_text(text, cursor=(len(text), 0)))

    def received(self) -> bytes:
        return b"".join(self.transport.sent)

    def end(self) -> None:
        self.transport.gone = True


@contextmanager
def scripted(kind: type[MemoryTransport] = MemoryTransport) -> Iterator[Session]:
    yield Scripted(kind)


def test_memory() -> None:
    assert check_transport(scripted) >= 8


def test_acme_installed_as_a_distribution_of_its_own(tmp_path: Path, stallkit_command: str) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "--target", str(tmp_path), str(ACME)], check=True)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    program = """
from stallkit import open_target
from stallkit.transports.targets import schemes
assert 'acme' in schemes()
print(open_target('acme:x').capture().screen.prompt_line.text)
"""
    words = [sys.executable, "-c", program]
    seen = subprocess.run(words, env=environment, check=True, capture_output=True, text=True)
    assert seen.stdout == "Proceed? [y/N] \n"
    checked = subprocess.run([stallkit_command, "check", "acme:x"], env=environment, check=False, capture_output=True)
    assert (checked.returncode, checked.stderr) == (2, b""), checked
    assert checked.stdout.startswith(b"acme:x: stalled (waiting, asks for confirm, sure)")
    its_own = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(ACME / "tests")]
    ran = subprocess.run(its_own, env=environment, check=False, capture_output=True, text=True)
    assert "1 passed" in ran.stdout, ran.stdout


class Forgetful(MemoryTransport):
    def send(self, keys: Keys, seen: Snapshot) -> None:
        """Presses whatever is there."""
        self._check()
        self.sent.append(keys.to_bytes())


class Doubling(MemoryTransport):
    def send(self, keys: Keys, seen: Snapshot) -> None:
        super().send(keys, seen)
        self.sent.append(keys.to_bytes())


class Losing(MemoryTransport):
    def send(self, keys: Keys, seen: Snapshot) -> None:
        """Loses a `;` at the end, as tmux's send-keys -l does."""
        super().send(keys, seen)
        self.sent[-1] = self.sent[-1].removesuffix(b";")


class Immortal(MemoryTransport):
    def capture(self) -> Snapshot:
        if self.gone:
            return Snapshot(Screen.from_text(""), alive=True, target=self.target)
        return super().capture()


class Confusing(MemoryTransport):
    def _check(self) -> None:
        if self.gone:
            raise TransportError(self.target, "something went wrong", "guess what")


class Foreign(MemoryTransport):
    def _check(self) -> None:
        if self.gone:
            raise OSError("EIO")


class Nameless(MemoryTransport):
    def _check(self) -> None:
        with suppress(AttributeError):
            self.target, target = "memory:", self.target
            try:
                super()._check()
            finally:
                self.target = target


class Cursorless(MemoryTransport):
    def show(self, screen: Screen | str) -> None:
        assert isinstance(screen, Screen)
        super().show(Screen.from_text(screen.text, cursor=(0, 5)))


BROKEN: dict[type[MemoryTransport], set[str]] = {
    Forgetful: {"keys after a change are refused", "keys for another session are refused"},
    Doubling: {"keys arrive once and exactly", "keys after a change", "keys for another"},
    Losing: {"keys arrive once and exactly"},
    Immortal: {"an end is seen", "closing twice"},
    Confusing: {"an end is seen"},
    Foreign: {"an end is seen", "closing twice"},
    Nameless: {"an end is seen", "closing twice"},
    Cursorless: {"the cursor is behind the text"},
}


def test_the_suite_finds_a_broken_transport() -> None:
    for kind, failures in BROKEN.items():
        with pytest.raises(AssertionError) as raised:
            check_transport(lambda kind=kind: scripted(kind), deadline_s=0.1)
        found = str(raised.value).split("\n  ")[1:]
        assert len(found) == len(failures), (kind, found)
        assert all(any(line.startswith(failure) for line in found) for failure in failures), (kind, found)


def test_a_script_answers_keys_with_screens() -> None:
    transport = MemoryTransport("Proceed? [y/N] ", on_keys=lambda keys: "yes" if keys == b"y\r" else None)
    seen = transport.capture()
    transport.send(Keys.parse("n"), seen)
    assert transport.capture() == seen
    transport.send(Keys.parse("y Enter"), seen)
    assert transport.capture().screen.text == "yes"
    assert (transport.sent, transport.captures) == ([b"n", b"y\r"], 3)


def test_it_can_be_gone_and_can_fail() -> None:
    transport = MemoryTransport("")
    seen = transport.capture()
    transport.failing = CaptureTimeout("memory:", 2)
    with pytest.raises(CaptureTimeout):
        transport.capture()
    transport.failing, transport.gone = None, True
    with pytest.raises(SessionGone):
        transport.send(Keys.parse("y"), seen)


def test_it_can_change_between_a_look_and_a_press() -> None:
    transport = MemoryTransport("Keep? ")
    seen = transport.capture()

    def lock() -> None:
        transport.now = evolve(seen, accepts_keys=False)

    transport.before_send = lock
    with pytest.raises(KeysRefused, match="takes no keys"):
        transport.send(Keys.parse("y"), seen)
    assert transport.sent == []


# --- what people write first works, or raises one line that says what is meant ---


def test_a_bare_name_says_what_to_write_and_is_no_list_of_letters() -> None:
    with pytest.raises(ValueError, match=r"^'w1' is not a target: write tmux:w1") as raised:
        check("w1")
    assert "\n" not in str(raised.value)
    with pytest.raises(ValueError, match="'' is not a target"):
        open_target("")
    with pytest.raises(ValueError, match="'w1' is not a target"):
        Supervisor("w1")


def test_a_text_is_detected_as_a_screen_is() -> None:
    engine = Engine.default()
    text = "Proceed? [y/N] "
    assert engine.detect(text) == engine.detect(Screen.from_text(text))
    assert engine.detect(text).match is not None


def test_transports_are_context_managers() -> None:
    with MemoryTransport("$ ") as memory, PtyTransport.spawn(["cat"]) as session:
        assert session.exit_status is None
    assert session.exit_status is not None
    for closed in (memory, session):
        with pytest.raises(SessionGone):
            closed.capture()


class ThirdPartys:
    """A third party's transport that is no context manager."""

    target = "acme:one"
    closed = False

    def capture(self) -> Snapshot:
        return MemoryTransport("$ ").capture()

    def send(self, keys: Keys, seen: Snapshot) -> None:
        raise AssertionError("nothing is sent here")

    def close(self) -> None:
        ThirdPartys.closed = True


def test_what_a_target_opens_is_closed_at_the_end(tmp_path: Path) -> None:
    (path := tmp_path / "screen.txt").write_text("Proceed? [y/N] ")
    with open_target(f"file:{path}") as saved:
        assert saved.capture().screen.text == "Proceed? [y/N]"
    with closing_of(ThirdPartys()) as foreign:
        assert (foreign.target, foreign.capture().screen.text) == ("acme:one", "$")
        assert isinstance(foreign, Transport) and not isinstance(foreign, Moving)
    assert ThirdPartys.closed


def test_spawns_without_a_terminal_are_refused_in_one_line() -> None:
    reads, writes = os.pipe()
    os.close(writes)
    popen = pexpect.popen_spawn.PopenSpawn(["true"])
    popen.wait()
    popen.proc.stdin.close()
    popen.proc.stdout.close()
    with closing(pexpect.fdpexpect.fdspawn(reads)) as file:
        for spawn in (popen, file):
            with pytest.raises(TransportError, match=f"{type(spawn).__name__} has .*StreamTransport") as raised:
                PexpectTransport(spawn)
            assert "\n" not in str(raised.value)
