"""What is wrong between here and each host of the fleet: clock, version, rights, lag, policy; a line each."""

from __future__ import annotations

import asyncio
import time

from attrs import frozen
from nats.aio.client import Client

from stallkit.distributions import own_version
from stallkit.errors import StallkitError
from stallkit_fleet import bus, view
from stallkit_fleet.messages import OFFER
from stallkit_fleet.settings import FleetSettings
from stallkit_fleet.view import FleetView, HostRow

SKEW_S = 5.0  # between two clocks: nothing depends on them, but what is shown is dated by them
BEHIND = 1_000_000  # bytes of a log that were not sent
LOOKS_S = 1.5


@frozen
class Finding:
    """One thing that is wrong: where, why, what to do."""

    where: str
    why: str
    todo: str


def findings(fleet: FleetSettings) -> list[Finding]:
    """All that is wrong, the bus first.  Raises nothing."""
    try:
        return asyncio.run(_examined(fleet))
    except StallkitError as error:
        return [Finding(error.where, error.why, error.todo)]


async def _examined(fleet: FleetSettings) -> list[Finding]:
    credentials = fleet.operator_credentials or fleet.credentials
    async with bus.connected(fleet, credentials, f"operator.{fleet.person}") as client:
        js = client.jetstream(timeout=bus.REPLY_S)
        await bus.check_version(js, str(fleet.url))
        found = await view.read(js)
        hosts = found.hosts()
        both = await asyncio.gather(*(_of_host(client, fleet, found, host) for host in hosts.values()))
        if not hosts:
            return [Finding(str(fleet.url), "no host has joined", "stallkit fleet join URL, on each machine")]
        return [*_of_clock(found), *(one for several in both for one in several)]


def _of_clock(found: FleetView) -> list[Finding]:
    here = time.time() - found.now
    if abs(here) <= SKEW_S or not any(host.alive for host in found.hosts().values()):
        return []
    return [Finding("here", f"the clock is {abs(here):.0f} s off the server's", "set it: timedatectl set-ntp true")]


async def _of_host(client: Client, fleet: FleetSettings, found: FleetView, host: HostRow) -> list[Finding]:
    facts, wrong = host.facts, list[Finding]()

    def say(why: str, todo: str) -> None:
        wrong.append(Finding(host.name, why, todo))

    if not host.alive:
        ago = max(0.0, time.time() - host.heard)  # if none is heard, nobody knows the server's clock
        if facts.get("run") == "joined":
            say("it joined, and sends nothing", "start stallkit watch there")
            return wrong
        if facts.get("ended"):
            say("its supervisor was stopped", "start stallkit watch there")
            return wrong
        say(f"it was last heard {ago:.0f} s ago", "check there: is the machine up? does stallkit watch run?")
        return wrong
    skew = float(facts.get("at") or 0.0) - host.heard
    if abs(skew) > SKEW_S:
        say(f"its clock is {abs(skew):.0f} s {'ahead' if skew > 0 else 'behind'}", "set it: timedatectl set-ntp true")
    if facts.get("stallkit") not in (None, own_version()):
        say(f"it runs stallkit {facts['stallkit']}, this is {own_version()}", "update the older one")
    if (behind := int(facts.get("behind_bytes") or 0)) > BEHIND:
        say(f"{behind:,} bytes of its log were not sent yet", "wait; if it grows, the network or the bus is too slow")
    if facts.get("lost_files"):
        say(f"{facts['lost_files']} files of its log were rotated away before they were sent", "see its own log")
    if facts.get("policy_refused"):
        say(str(facts["policy_refused"]), "stallkit fleet policy list")
    if fleet.person not in (facts.get("operators") or []):
        say(f"{fleet.person} may not answer there", f"there: stallkit fleet join ... --answers {fleet.person}")
        return wrong
    try:
        await view.ask(client, host.name, fleet.person, OFFER, LOOKS_S)
    except StallkitError as error:
        say(f"a request does not get through: {error.why}", "check your rights on the bus: stallkit.ask.*.NAME")
    return wrong
