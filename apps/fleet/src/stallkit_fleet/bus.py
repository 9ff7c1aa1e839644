"""The connection to the bus: as whom, over TLS, what must be there, and each failure in one line.

It is opened again after a failure, rather than kept alive: whoever sent something decides what that means for it.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import re
import socket
import ssl
import time
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, AsyncIterator, Callable, Mapping

import nats.errors
import nats.js.errors
import nkeys
from nats.aio.client import Client
from nats.js import JetStreamContext, api
from nats.js.kv import KeyValue

from stallkit.errors import ConfigError, StallkitError
from stallkit_fleet.messages import ABOUT, ALIVE, ALIVE_S, EVENTS, POLICY, STATE, event_subject
from stallkit_fleet.settings import FleetSettings, secret

ABOUT_KEY = "about"  # in the bucket of policies, which every host may read
CONNECT_S = 5.0
REPLY_S = 5.0  # for the server to say that it has a message
DAY_S = 86_400.0
FAILURES = (nats.errors.Error, OSError, asyncio.TimeoutError, ssl.SSLError)
# Python warns at the end of each connection over TLS of how the client's protocol is written: nobody can act on that.
logging.getLogger("asyncio").addFilter(lambda record: "eof_received" not in record.getMessage())
_FULL = (10023, 10047)  # of JetStream: insufficient resources, insufficient storage
_BUCKETS: Mapping[str, Mapping[str, Any]] = {
    STATE: {"ttl": 7 * DAY_S},
    ALIVE: {"ttl": ALIVE_S},
    POLICY: {"history": 64},
}


class BusError(StallkitError):
    """The bus cannot be used; local work goes on without it."""

    def __init__(self, where: str, why: str, todo: str = "see: stallkit fleet doctor") -> None:
        super().__init__("fleet", where, why, todo)


def _login(path: str | None, name: str, check: Callable[[], object]) -> dict[str, Any]:
    """How a file of credentials logs in: of an account (.creds), an NKey seed, or ``USER:PASSWORD``.

    `check` is called before a password is sent.
    """
    if path is None:
        return {}
    text = secret(path).strip()
    if "BEGIN NATS USER JWT" in text:
        if (expires := _expires(text)) is not None and expires < time.time():
            raise ConfigError(path, "they have expired", "get new credentials from who runs the bus")
        return {"user_credentials": str(Path(path).expanduser())}
    if text.startswith("SU") and ":" not in text:
        with suppress(Exception):  # its own classes of errors have no common one
            nkeys.from_seed(bytearray(text.encode()))
            return {"nkeys_seed_str": text}
    user, colon, password = text.partition(":")
    if not colon or "\n" in text:
        todo = "it holds a .creds file, an NKey seed, or one line USER:PASSWORD"
        raise ConfigError(path, f"it is no file of credentials of {name}", todo)
    return {"user": user, "password": lambda: check() or password}


def _expires(creds: str) -> float | None:
    """When the token in a .creds file expires: of one that did, the server says only that it refuses it."""
    with suppress(ValueError, IndexError, AttributeError):
        claims = creds.split("-----")[2].strip().split(".")[1]
        found = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4))).get("exp")
        return float(found) if found else None
    return None


@asynccontextmanager
async def connected(fleet: FleetSettings, credentials: str | None, name: str) -> AsyncIterator[Client]:
    """The bus, for `name`, whose replies nobody else can read; closed at the end.  Raises BusError, ConfigError."""
    assert fleet.url is not None
    client, said, tls = Client(), list[Exception](), _tls(fleet)

    def check() -> None:
        if tls is not None and not tls.used:
            todo = "have it use TLS; or write nats:// and no ca, if nobody can read that network"
            raise BusError(str(fleet.url), "the server there has no TLS: nothing was sent to it", todo)

    async def note(error: Exception) -> None:
        said.append(error)

    try:
        await client.connect(
            [one.strip() for one in fleet.url.split(",")],
            name=f"stallkit {name}",
            error_cb=note,
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            connect_timeout=int(CONNECT_S),
            ping_interval=5,
            max_outstanding_pings=2,
            inbox_prefix=f"_INBOX.{name}",
            tls=tls,
            **_login(credentials, name, check),
        )
    except StallkitError:
        raise
    except Exception as error:  # what else listens there may say anything
        raise BusError(fleet.url, *reason(error, said)) from error
    try:
        check()
        yield client
    except FAILURES as error:
        raise BusError(fleet.url, *reason(error, said)) from error
    finally:
        await client.close()


class _Tls(ssl.SSLContext):
    """Notes that it was used: the client goes on without TLS if the server, or somebody between, says it has none."""

    used = False

    def wrap_bio(self, *words: Any, **more: Any) -> ssl.SSLObject:
        self.used = True
        return super().wrap_bio(*words, **more)


def _tls(fleet: FleetSettings) -> _Tls | None:
    """What a server's certificate is checked against, if the settings ask for TLS."""
    if fleet.ca is None and not any(one.strip().startswith("tls:") for one in str(fleet.url).split(",")):
        return None
    made = _Tls(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if fleet.ca is None:
            made.load_default_certs()
        else:
            made.load_verify_locations(Path(fleet.ca).expanduser())
    except (OSError, ssl.SSLError) as error:
        raise ConfigError("[fleet] ca", f"{fleet.ca}: {error}", "name a file of certificates") from error
    return made


def reason(error: BaseException, said: list[Exception] | tuple[Exception, ...] = ()) -> tuple[str, str]:
    """Why the bus cannot be used, and what to do, in words."""
    texts = [str(one) for one in (*said, error)]
    both, kinds = " ".join(texts).casefold(), {type(one) for one in (*said, error)}
    if "expired" in both:
        return "the credentials have expired", "get new ones from who runs the bus"
    if found := re.search(r"permissions violation for (publish|subscription) to \W*([^\s\"'\\]+)", both):
        verb = "publish to" if found[1] == "publish" else "subscribe to"
        return f"this user may not {verb} {found[2]}", "see docs/examples/fleet-nats.conf for the rights of each"
    if "authorization violation" in both:
        return "the server refuses these credentials", "check the file of the credentials"
    if isinstance(error, ssl.SSLError) or "certificate" in both or "ssl" in both:
        return f"TLS fails: {texts[-1]}", "name the file of the server's authority as [fleet] ca"
    if isinstance(error, nats.js.errors.NotFoundError):
        return "the streams of stallkit are not there", "create them: stallkit fleet join, as a user who may"
    if isinstance(error, nats.js.errors.APIError) and error.err_code in _FULL:
        return "its store is full", "give it more (max_file_store), or keep fewer events (docs/scale.md)"
    if isinstance(error, nats.js.errors.ServiceUnavailableError):
        return "JetStream does not answer", "start nats-server with -js"
    if isinstance(error, nats.js.errors.APIError):
        return f"the server says: {error.description}", "see its log; the disk may be full"
    if isinstance(error, nats.errors.NoRespondersError | nats.js.errors.NoStreamResponseError):
        return "JetStream does not answer", "start nats-server with -js"
    if isinstance(error, nats.errors.ConnectionClosedError | nats.errors.StaleConnectionError):
        return "the connection broke", "is the network there? does nats-server run?"
    if socket.gaierror in kinds:
        return "there is no machine of that name", "correct [fleet] url"
    if isinstance(error, nats.errors.MaxPayloadError):
        return "it is longer than the server takes", "make it shorter"
    if "expecting info" in both or "json parse error" in both or {ValueError, AttributeError} & kinds:
        return "what listens there is no nats-server", "correct [fleet] url"
    if isinstance(error, ConnectionRefusedError) or "connect call failed" in both or "errno 111" in both:
        return "nothing listens there", "start nats-server, or correct [fleet] url"
    if {asyncio.TimeoutError, nats.errors.TimeoutError} & kinds or "timeout" in both:
        return "no answer in time", "is the network there? is it the address of the bus?"
    if broken := [one for one in (*said, error) if isinstance(one, OSError)]:
        return f"it cannot be reached: {broken[-1].strerror or broken[-1]}", "is the network there?"
    return texts[-1] or type(error).__name__, "check [fleet] url"


async def create(js: JetStreamContext, url: str) -> None:
    """Make the stream and the buckets that are not there yet.  Raises BusError, and what the bus raises."""
    for name, limits in _BUCKETS.items():
        try:
            await js.stream_info(f"KV_{name}")
        except nats.js.errors.NotFoundError:
            await js.create_key_value(bucket=name, description=ABOUT, **limits)
    try:
        await js.stream_info(EVENTS)
    except nats.js.errors.NotFoundError:
        await js.add_stream(
            name=EVENTS,
            description=ABOUT,
            subjects=[event_subject("*")],
            max_age=7 * DAY_S,
            duplicate_window=600,
            storage=api.StorageType.FILE,
        )
    with suppress(nats.js.errors.KeyWrongLastSequenceError):
        await bucket(js, POLICY).create(ABOUT_KEY, ABOUT.encode())
    await check_version(js, url)


async def check_version(js: JetStreamContext, url: str) -> None:
    """Raises BusError if the buckets are of another version of stallkit, or of something else, or not there."""
    try:
        entry = await bucket(js, POLICY).get(ABOUT_KEY)
    except nats.js.errors.NotFoundError as error:
        raise BusError(url, "stallkit's buckets do not exist", "stallkit fleet join, as a user who may") from error
    about = (entry.value or b"").decode("utf-8", "replace")
    if about != ABOUT:
        why = f"its buckets are of another version: {about[:40]!r}, this is {ABOUT!r}"
        raise BusError(url, why, "update stallkit-fleet here or there")


def bucket(js: JetStreamContext, name: str) -> KeyValue:
    """A bucket, without a look whether it is there: a host has no right to that."""
    return KeyValue(name=name, stream=f"KV_{name}", pre=f"$KV.{name}.", js=js, direct=False)
