"""Samples of real processes and their real sockets: what they did, what came, and what is not known."""

from __future__ import annotations

import os
import pickle
import shutil
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Callable, Iterator

import pytest
from programs import Run
from terminals import wait_for

from stallkit.probes.activity import Activity, Connection, ProcessActivity, TcpSockets, parsed, sample
from stallkit.probes.procfs import stat_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells this much")
ROOT = os.getuid() == 0

# Connects to a port, asks, says so, and waits.
CLIENT = """
import socket, sys, time
one = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
one.sendall(b"a question")
print("asked", flush=True)
while 1: time.sleep(1000)
"""
# A server of its own, and a connection to it, in two processes; then a connection to a port outside.
INNER = """
import os, socket, sys, time
own = socket.create_server(("127.0.0.1", 0))
if os.fork():
    one = socket.create_connection(own.getsockname())
    own.close()
else:
    one = own.accept()[0]
    if len(sys.argv) > 1:
        out = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    print("both", flush=True)
while 1: time.sleep(1000)
"""

Start = Callable[..., subprocess.Popen[str]]
said: dict[int, str] = {}  # the line that each of them printed


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a command, once it has printed a line; ends it and what is below it."""
    with ExitStack() as ends:

        def started(*words: str) -> subprocess.Popen[str]:
            one = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
            assert one.stdout is not None
            ends.callback(one.wait)
            ends.callback(os.killpg, one.pid, 9)
            ends.callback(one.stdout.close)
            said[one.pid] = one.stdout.readline()
            assert said[one.pid]
            return one

        yield started


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def port(of: socket.socket) -> str:
    return str(of.getsockname()[1])


def taken(pid: int) -> Activity:
    found = sample([pid])
    assert found is not None
    return found


def only(activity: Activity) -> Connection:
    assert activity.connections is not None
    [one] = activity.connections
    return one


def test_a_server_that_falls_silent_and_one_that_gives_signs_of_life(start: Start, server: socket.socket) -> None:
    client = start(sys.executable, "-c", CLIENT, port(server))
    accepted, _ = server.accept()
    with accepted:
        accepted.recv(100)
        asked = only(taken(client.pid))
        assert (asked.sent, asked.received, asked.peer) == (10, 0, f"127.0.0.1:{port(server)}")
        wait_for(lambda: only(taken(client.pid)).received_s > asked.received_s, "time to pass")
        assert only(taken(client.pid)) == asked, "and nothing else has changed"
        accepted.sendall(b": ping\n\n")
        wait_for(lambda: only(taken(client.pid)).received == 8, "the sign of life")
        answered = only(taken(client.pid))
        assert answered != asked and answered.received_s <= answered.sent_s and not answered.unanswered


def test_what_is_between_its_own_processes_is_left_out(start: Start, server: socket.socket) -> None:
    alone = start(sys.executable, "-c", INNER)
    assert taken(alone.pid).connections == ()
    with_one = start(sys.executable, "-c", INNER, port(server))
    assert only(taken(with_one.pid)).peer == f"127.0.0.1:{port(server)}"


def test_what_others_open_to_a_port_of_its_own_is_left_out(start: Start) -> None:
    listens = "import socket, time\nown = socket.create_server(('127.0.0.1', 0))\n"
    waits = "print(own.getsockname()[1], flush=True)\ntaken = [own.accept() for _ in range(2)]\ntime.sleep(1000)"
    one = start(sys.executable, "-c", listens + waits)
    place = ("127.0.0.1", int(said[one.pid]))
    with socket.create_connection(place) as first, socket.create_connection(place):
        first.sendall(b"GET /session/status HTTP/1.1\r\n")
        assert taken(one.pid).connections == ()


def test_cpu_time_and_bytes_of_all_below(start: Start) -> None:
    loop = start("bash", "-c", "echo up; (while :; do echo -n; done) & sleep 1000")

    def workers() -> dict[str, ProcessActivity]:
        return {f"{one.name} {one.pid == loop.pid}": one for one in taken(loop.pid).processes}

    wait_for(lambda: len(workers()) == 3, "all of them")
    before = workers()
    assert set(before) == {"bash True", "bash False", "sleep False"}
    wait_for(lambda: workers()["bash False"].cpu_s > before["bash False"].cpu_s + 0.05, "the loop to compute")
    after = workers()
    assert after["sleep False"].cpu_s == before["sleep False"].cpu_s
    assert {one.key for one in before.values()} == {one.key for one in after.values()}
    assert before["bash False"].parent == loop.pid and not before["bash False"].foreground
    writes = start("bash", "-c", "echo up; while :; do echo ............ >/dev/null; done")
    first = taken(writes.pid).processes[0]
    assert first.written is not None and first.read is not None
    wait_for(lambda: (taken(writes.pid).processes[0].written or 0) > (first.written or 0), "bytes")


def test_how_old_a_process_is_and_nothing_of_what_is_gone(start: Start) -> None:
    old = start("bash", "-c", "echo up; read line; sleep 1000")
    [process] = taken(old.pid).processes
    stat = stat_of(old.pid)
    assert 0 <= process.age_s < 600 and stat is not None and process.key == (old.pid, stat.started)
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert sample([ended.pid]) is None and sample([]) is None


# A server at a unix socket that asks a model; one to which it passes nothing; and a client of either.
SHARED = """
import os, pathlib, socket, sys, time
pathlib.Path('/proc/self/comm').write_text(sys.argv[1])
if sys.argv[2] == "serve":
    own = socket.socket(socket.AF_UNIX)
    own.bind(sys.argv[3])
    own.listen()
    model = sys.argv[4:] and socket.create_connection(("127.0.0.1", int(sys.argv[4])))
    print("up", flush=True)
    taken = own.accept()
else:
    own = socket.socket(socket.AF_UNIX)
    own.connect(sys.argv[3])
    print("up", flush=True)
while 1: time.sleep(1000)
"""


def test_a_server_that_its_own_program_shares_belongs_to_it(tmp_path: Path, server: socket.socket, run: Run) -> None:
    words, place = [sys.executable, "-c", SHARED], str(tmp_path / "socket")
    shared = run([*words, "acme", "serve", place, port(server)])
    shared.shows("up")
    client = run([*words, "acme", "ask", place])
    client.shows("up")
    wait_for(lambda: len(taken(client.pid).processes) == 2, "the server")
    assert only(taken(client.pid)).peer == f"127.0.0.1:{port(server)}"


def test_behind_another_program_at_a_unix_socket_the_connections_are_unknown(tmp_path: Path, run: Run) -> None:
    words, place = [sys.executable, "-c", SHARED], str(tmp_path / "socket")
    run([*words, "proxy", "serve", place]).shows("up")
    client = run([*words, "acme", "ask", place])
    client.shows("up")
    wait_for(lambda: taken(client.pid).connections is None, "its socket")
    assert [one.name for one in taken(client.pid).processes] == ["acme"]


@pytest.mark.skipif(not ROOT, reason="another user is needed")
def test_of_another_users_processes_the_cpu_time_is_known_alone(start: Start, server: socket.socket) -> None:
    client = start(sys.executable, "-c", CLIENT, port(server))
    reading, writing = os.pipe()
    if not (child := os.fork()):
        try:  # as nobody, who sees this user's processes from outside
            os.setgid(65534)
            os.setuid(65534)
            os.write(writing, pickle.dumps(sample([client.pid])))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    found = pickle.loads(os.read(reading, 65_536))
    os.close(reading)
    os.close(writing)
    [process] = found.processes
    assert process.cpu_s == pytest.approx(taken(client.pid).processes[0].cpu_s)
    assert (process.read, process.written, found.connections) == (None, None, None)


@pytest.mark.skipif(not ROOT or not shutil.which("unshare"), reason="a network namespace is needed")
def test_sockets_in_another_network_namespace(start: Start) -> None:
    inside = start("unshare", "-n", "sh", "-c", f"ip link set lo up; exec {sys.executable} -c '{INNER}'")
    sockets = TcpSockets()
    seen, ours = sockets.seen_by(inside.pid), sockets.seen_by(os.getpid())
    assert seen is not None and ours is not None
    assert len(seen.connections) == 2 and not seen.connections.keys() & ours.connections.keys()
    assert taken(inside.pid).connections == ()


def test_a_sweep_asks_for_the_sockets_once_and_without_ss_they_are_unknown(
    start: Start, server: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, sockets = start(sys.executable, "-c", CLIENT, port(server)), TcpSockets()
    first, second = sample([client.pid], sockets), sample([client.pid], sockets)
    assert first is not None and second is not None
    assert only(first) is only(second)
    monkeypatch.setenv("PATH", "/nowhere")
    assert taken(client.pid).connections is None


def test_what_ss_prints_of_ipv6_and_of_what_is_over() -> None:
    text = (
        "tcp LISTEN 0 128 [::]:443 [::]:* ino:5 sk:1\n\t cubic\n"
        "tcp ESTAB 0 0 [::ffff:127.0.0.1]:443 [::ffff:127.0.0.1]:9 timer:(keepalive,1min,0) ino:6 sk:2 <->\n"
        "\t cubic bytes_sent:120 bytes_retrans:20 bytes_received:7 lastsnd:1500\n"
        "u_str ESTAB 0 0 /tmp/a b 21 * 22 <->\nu_str ESTAB 0 0 * 22 * 21 <->\nu_str LISTEN 0 9 /x 23 * 0 <-> ino:6\n"
        "tcp TIME-WAIT 0 0 127.0.0.1:9 127.0.0.1:8\n"
    )
    found = parsed(text)
    assert found.listening == {5: "443"} and found.peers == {21: 22, 22: 21}
    assert found.connections == {6: Connection("127.0.0.1:443", "127.0.0.1:9", 7, 100, 0.0, 0.0)}
    assert (found.connections[6].sent_s, found.connections[6].received_s) == (1.5, 0.0)
    assert parsed("") == parsed("garbage\n\tmore") and not parsed("").connections
