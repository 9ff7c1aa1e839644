"""Ports against real sockets."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from stallkit_sessions import ports
from stallkit_sessions.ports import any_free, free, listeners
from terminals import wait_for

HAS_IPV6 = Path("/proc/net/if_inet6").exists() and bool(Path("/proc/net/if_inet6").read_text())
ADDRESSES = ["127.0.0.1", "0.0.0.0", *["127.0.0.2"] * (sys.platform == "linux"), *["::1", "::"] * HAS_IPV6]


def listening(address: str, port: int = 0, only: bool = False) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
    if ":" in address:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, only)
    made.bind((address, port))
    made.listen()
    return made


def test_whoever_listens_anywhere_has_the_port() -> None:
    own = {"pid": os.getpid(), "program": Path("/proc/self/comm").read_text().strip()}
    for address in ADDRESSES:
        for only in (False, True) if ":" in address else (False,):
            with listening(address, only=only) as server:
                port = server.getsockname()[1]
                assert not free(port), (address, only)
                wait_for(lambda port=port: listeners([port]) == {port: own}, "the search to end within its limit")
            assert free(port), (address, only)
            assert listeners([port]) == {port: None}, (address, only)


def test_a_port_that_is_bound_and_not_listened_on() -> None:
    """As a program is between the two calls; without SO_REUSEADDR the system lets nobody else bind it."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        assert not free(held.getsockname()[1])


def test_what_an_ended_server_leaves_behind_does_not_count() -> None:
    with listening("127.0.0.1") as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            accepted, _ = server.accept()
            accepted.close()  # the server's side closes first, and is left in TIME_WAIT
            assert client.recv(1) == b""
    waits = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    assert any(fields[1].endswith(f":{port:04X}") and fields[3] == "06" for fields in waits), "the case is there"
    assert free(port)
    listening("127.0.0.1", port).close()


def test_what_is_no_port() -> None:
    for port in [0, -1, 65_536]:
        with pytest.raises(ValueError, match=f"{port} is not a port"):
            free(port)


def test_many_free_ones_are_all_different() -> None:
    found = any_free(count=200)
    assert len(set(found)) == 200 and all(1 <= port <= ports.LAST for port in found)
    assert any_free(count=0) == []
    assert not set(any_free(besides=set(range(1, 50_000)), count=5)) & set(range(1, 50_000))


def test_no_free_port_is_an_error() -> None:
    with pytest.raises(OSError, match="no free port"):
        any_free(besides=range(ports.LAST + 1))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give up its rights")
def test_a_low_port_that_this_user_may_not_bind() -> None:
    """An engine may publish it nevertheless; so it counts as free where nobody listens."""
    code = """
import os, socket, sys
from stallkit_sessions.ports import free, listeners
port = int(sys.argv[1])
server = socket.create_server(("127.0.0.1", port))
os.setuid(65534)
print(free(port), listeners([port])[port] is None)  # whose it is may be hidden from one who gave up its rights
server.close()
print(free(port))
"""
    low = next(port for port in range(1023, 500, -1) if free(port))
    done = subprocess.run([sys.executable, "-c", code, str(low)], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\nTrue\n"


def test_somebody_elses_listener() -> None:
    program = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None and other.stdin is not None
        port = int(other.stdout.readline())
        (found,) = listeners([port]).values()
        assert found is not None and found["pid"] == other.pid and found["program"].startswith("python")
        other.stdin.close()
    assert listeners([port]) == {port: None}


def test_nobody_could_look(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ports, "PROC", str(tmp_path))
    assert listeners([80]) == {}, "nothing is said of a port: that is not the same as nobody listening"
