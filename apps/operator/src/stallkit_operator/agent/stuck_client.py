#!/usr/bin/env python3
"""stuck [--wait SECONDS | --no-wait] [--key KEY] [TEXT...]: ask a person, wait for the reply, and print it as it is.

The text may also come on standard input.  Without one: the reply to what a hook asked last.  Needs nothing but Python's
standard library.

Exit codes: 0 answered; 1 declined, the reason is printed; 2 it could not be asked; 4 expired or cancelled; 5 still
waiting after --wait, or asked with --no-wait: the same --key goes on with it.

Where to ask: $STALLKIT_STUCK_SOCKET, else notify.sock beside this file, else /run/stallkit/notify.sock; or
$STALLKIT_STUCK_URL, with $STALLKIT_STUCK_TOKEN.
"""

from __future__ import annotations

import argparse
import http.client
import os
import secrets
import socket
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

DEFAULT = "/run/stallkit/notify.sock"
AGAIN = frozenset({408, 429, 499})
EXITS = {200: 0, 403: 1, 410: 4}
PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0)


class UnixConnection(http.client.HTTPConnection):
    """A connection to a unix socket."""

    def __init__(self, path: str, timeout: float | None) -> None:
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def connection(timeout: float | None) -> http.client.HTTPConnection:
    """To wherever the environment says."""
    url = urlsplit(os.environ.get("STALLKIT_STUCK_URL", ""))
    if url.hostname:
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        return kind(url.hostname, url.port, timeout=timeout)
    beside = Path(__file__).resolve().parent / "notify.sock"
    other = Path(DEFAULT).exists() and not beside.exists()  # it comes and goes with the endpoint
    return UnixConnection(os.environ.get("STALLKIT_STUCK_SOCKET") or (DEFAULT if other else str(beside)), timeout)


def ask(key: str, words: bytes, timeout: float | None, later: bool) -> tuple[int, bytes, bool]:
    """Status and text of the answer, and whether the words were sent; status 0, and why, where there is no answer."""
    headers = {"Accept": "text/plain", "Content-Type": "text/plain; charset=utf-8", "Idempotency-Key": key}
    if later:
        headers["Prefer"] = "respond-async"
    token = os.environ.get("STALLKIT_STUCK_TOKEN")
    if token:
        headers["Authorization"] = f"Bearer {token}"
    to, sent = connection(timeout), False
    try:
        to.request("POST", "/supervise/notify", words, headers)
        sent = True
        answer = to.getresponse()
        return answer.status, answer.read(), sent
    except (OSError, http.client.HTTPException) as error:
        return 0, (str(error) or type(error).__name__).encode(), sent
    finally:
        to.close()


def main() -> int:
    """Ask until there is an answer; the exit code."""
    parser = argparse.ArgumentParser(prog="stuck", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--wait", type=float, metavar="SECONDS")
    parser.add_argument("--no-wait", action="store_true")
    parser.add_argument("--key")
    parser.add_argument("text", nargs="*")
    given = parser.parse_args()
    words = " ".join(given.text).encode("utf-8", "surrogateescape")
    if not given.text and not sys.stdin.isatty():
        words = sys.stdin.buffer.read()
    key = given.key or secrets.token_hex(16)
    deadline = None if given.wait is None else time.monotonic() + given.wait
    told, tries, asked = False, 0, not words  # without words it was asked earlier
    while True:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            if not asked:
                print(f"stuck: nobody could be asked within {given.wait:g} s: ask again", file=sys.stderr)
                return 2
            print(f"stuck: still waiting; go on with: stuck --key {key}", file=sys.stderr)
            return 5
        status, reply, sent = ask(key, words, left, given.no_wait)
        why = f"it answers {status}" if status else reply.decode()
        asked = asked or (sent and not status)
        if status == 202:
            print(f"stuck: asked; go on with: stuck --key {key}", file=sys.stderr)
            return 5
        if status in EXITS:
            (sys.stderr if status == 410 else sys.stdout).buffer.write(reply)
            return EXITS[status]
        if status and status not in AGAIN and status < 500:
            print(f"stuck: refused ({status}): {reply.decode('utf-8', 'replace')}", file=sys.stderr)
            return 2
        if deadline is not None and time.monotonic() >= deadline:
            continue
        if not told:
            print(f"stuck: cannot ask yet ({why}); trying again", file=sys.stderr)
            told = True
        pause = PAUSES[min(tries, len(PAUSES) - 1)]
        time.sleep(pause if deadline is None else max(0.0, min(pause, deadline - time.monotonic())))
        tries += 1


if __name__ == "__main__":
    sys.exit(main())
