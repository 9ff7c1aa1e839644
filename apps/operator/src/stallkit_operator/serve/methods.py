"""What programs may ask, in any protocol: who waits, why, and a reply.

A reply is a person's answer that a program passes on.  It goes the way of ``stallkit stuck``, through the queue's claim
and the gate, and only if the policy that the server was started with lets programs answer (`allows`).
"""

from __future__ import annotations

import re
import socket
from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Callable, Mapping

from attrs import evolve, frozen
from stallkit_supervisor.notification import subject_of
from stallkit_supervisor.supervisor_socket import statuses

from stallkit.cli.check_commands import arguments
from stallkit.detect.dialog import Role
from stallkit.detect.engine import Engine
from stallkit.detect.signature import Kind, State
from stallkit.errors import SessionGone, StallkitError
from stallkit.jsonio import dump, unstructure
from stallkit.press.check import check_session, observe
from stallkit.press.policy import Choose, Policy, Press, Send
from stallkit.press.rules import Act, PromptFacts, Rule, Scene
from stallkit.redact.redact import redact_all
from stallkit.terminal.keys import Keys
from stallkit.transports.base import Transport
from stallkit_operator.answering import Answered, Result, carry_out
from stallkit_operator.item import Item, Source, Who
from stallkit_operator.orders import Order, Verb
from stallkit_operator.queue import Queue
from stallkit_operator.queue_sync import draft_of
from stallkit_operator.sandbox.sandbox_start import composer_of

READ_ONLY = "read-only: start `stallkit serve` with --policy NAME or FILE to let programs reply"
MOST = 10_000  # characters of a reply
_SAYS = r"[!-~]|[^\x00-\x7F]"  # some character that is seen


class InvalidParams(ValueError):
    """The parameters of a request are not those of its method."""


class NotDone(StallkitError):
    """A request that is well formed, and cannot be answered."""


@frozen
class Services:
    """What the methods need: the queue and the engine, a way to sessions by target and tmux server, and the policy.

    Without a `policy` nothing is answered.  `audit` writes one event of the manifests' log, as for `carry_out`.
    """

    queue: Callable[[], AbstractContextManager[Queue]]
    engine: Callable[[], Engine]
    reach: Callable[[str, str | None], Transport]
    policy: Policy | None = None
    audit: Callable[[Mapping[str, Any]], object] = lambda event: None


@frozen
class Method:
    """One method: what it does, the JSON schemas of its parameters by name, which it needs, and the call."""

    about: str
    params: Mapping[str, Mapping[str, Any]]
    needs: tuple[str, ...]
    either: tuple[str, ...]  # one of these as well, and not both
    call: Callable[[Services, Mapping[str, Any], Who], dict[str, Any]]

    def __call__(self, services: Services, given: Mapping[str, Any], who: Who) -> dict[str, Any]:
        """The result, redacted.  Raises InvalidParams; StallkitError if it cannot be done."""
        for name in given:
            if name not in self.params:
                raise InvalidParams(f"unknown parameter {name!r}: there are {', '.join(self.params) or 'none'}")
        for name in self.needs:
            if name not in given:
                raise InvalidParams(f"the parameter {name!r} is missing")
        if self.either and sum(name in given for name in self.either) != 1:
            raise InvalidParams(f"it takes one of {' and '.join(self.either)}")
        known = {name: _fitting(name, value, self.params[name]) for name, value in given.items()}
        result: dict[str, Any] = redact_all({"version": 1, **self.call(services, known, who)})
        return result


def _fitting(name: str, value: Any, schema: Mapping[str, Any]) -> Any:
    """The value, which is by these few keywords of JSON Schema.  Raises InvalidParams for any other."""
    if schema["type"] == "integer":
        value = int(value) if isinstance(value, float) and value.is_integer() else value  # 1.0 is one, too
        if type(value) is not int or not schema["minimum"] <= value <= schema["maximum"]:
            raise InvalidParams(f"{name} is a whole number from {schema['minimum']} on")
    elif not isinstance(value, str) or not re.search(schema["pattern"], value) or len(value) > schema["maxLength"]:
        raise InvalidParams(f"{name} is a text of at most {schema['maxLength']} characters")
    return value


def _who_waits(services: Services, given: Mapping[str, Any], who: Who) -> dict[str, Any]:
    with services.queue() as queue:
        items = [unstructure(item) for item in queue.items()]
    return {
        "host": socket.gethostname(),
        "policy": services.policy.name if services.policy else None,
        "items": items,
        "sessions": [row for status in statuses() for row in status["sessions"]],
    }


def _explain(services: Services, given: Mapping[str, Any], who: Who) -> dict[str, Any]:
    target = str(given["target"])
    if target.partition(":")[0] in ("file", "-"):
        raise NotDone("target", target, "files are not read for programs", "name a session, such as tmux:NAME")
    try:
        transport = services.reach(target, None)
    except ValueError as error:
        raise NotDone("target", target, str(error), "name a session") from error
    try:
        found = check_session(transport, services.engine(), prove=True)
    finally:
        transport.close()
    facts = [
        {"fact": fact, "argues_for": side} for fact, side in arguments(found.snapshot, found.verdict.detection.words)
    ]
    return {**dump(found), "facts": facts}


_VERBS = {"text": Verb.REPLY, "option": Verb.ANSWER, "decline": Verb.DECLINE}


def _reply(services: Services, given: Mapping[str, Any], who: Who) -> dict[str, Any]:
    with services.queue() as queue:
        item = queue.item(given["id"])
        verb, words = next((verb, given[name]) for name, verb in _VERBS.items() if name in given)
        if not words and item.kind != Kind.PRESS_KEY:
            raise NotDone("reply", str(item.id), "an empty text answers a press_key alone", "give a text")
        if verb is Verb.DECLINE and item.source is not Source.AGENT:
            raise NotDone("reply", str(item.id), "only an agent's notice can be declined", "choose one of its options")
        chosen = item.option(words)
        answer = chosen.name if chosen else words
        done = _refused(services, item, answer) if item.open and item.revision == given["revision"] else None
        if done is None:
            try:
                order, reach = Order(verb, item.id, words), partial(_answered_at, services)
                done = carry_out(queue, order, who, services.engine, reach, given["revision"], services.audit)
            except ValueError as error:
                raise NotDone("reply", str(item.id), str(error), "see who_waits") from error
    return {"result": str(done.result), "why": done.why, "item": unstructure(done.item)}


def _refused(services: Services, item: Item, answer: str) -> Answered | None:
    """Why programs may not answer this item; None if they may."""
    policy = services.policy
    if policy is None:
        return Answered(Result.REFUSED, READ_ONLY, item)
    if item.source is Source.AGENT:
        why = None if policy.presses or policy.rules else f"policy {policy.name} answers nothing"
        why = why or _kept_for_a_person(policy, item.session)
        return Answered(Result.REFUSED, why, item) if why else None
    try:
        transport = services.reach(item.session, item.server)
        try:
            verdict, seen = observe(transport, services.engine())
        finally:
            transport.close()
    except SessionGone:
        return None  # the answer finds that out, and takes the item off the list
    subject = subject_of(verdict)
    now = draft_of(item.session, subject, verdict, seen) if subject else None
    if now is None or (now.about, now.identity, now.action) != (item.about, item.identity, item.action):
        why = "it is not as it was listed: nothing was pressed; ask who_waits again"  # what is allowed is what is shown
        return Answered(Result.CHANGED, why, item)
    why = allows(policy, PromptFacts.of(verdict), Scene.of(seen), answer)
    return Answered(Result.REFUSED, why, item) if why else None


def _kept_for_a_person(policy: Policy, session: str) -> str | None:
    """Why no program answers the notices of a session: a rule escalates all that it asks, and names no screen."""
    for rule in policy.rules:
        whole = rule.do is Act.ESCALATE and evolve(rule, session=(), why="") == Rule(do=Act.ESCALATE)
        if whole and (not rule.session or any(fnmatchcase(session, one) for one in rule.session)):
            return f"policy {policy.name} leaves it to a person: {rule}"
    return None


def _answered_at(services: Services, item: Item) -> Transport | None:
    """Where the answer to an item is typed: for a notice that is its sandbox's composer, if keys go there at all."""
    return composer_of(item) if item.source is Source.AGENT else services.reach(item.session, item.server)


def allows(policy: Policy, asked: PromptFacts, scene: Scene, answer: str) -> str | None:
    """Why a policy leaves it to a person; None if programs may give this answer.

    They may where the policy itself would press or send: the option that it would choose, or one that rejects; at a
    prompt without options any answer.  Without a rule also text for an idle agent.  The gate still decides whether a
    key goes out.
    """
    if not policy.presses and not policy.rules:
        return f"policy {policy.name} answers nothing"
    rule = policy.rule_for(asked, scene)
    if rule is None and asked.state is State.IDLE:
        return None
    decision = policy.decide(asked, scene)
    if isinstance(decision, Send) or (isinstance(decision, Press) and not asked.labels):
        return None
    if isinstance(decision, Press | Choose):
        chosen = decision.option if isinstance(decision, Choose) else _chosen_by(decision.keys, asked)
        rejects = {one.text for one in asked.options if one.role is Role.REJECT}
        allowed = [label for label in asked.labels if label == chosen or label in rejects]
        which = " or ".join(map(repr, allowed)) or "none of its options"
        return None if answer in allowed else f"policy {policy.name} lets programs choose {which}"
    return getattr(decision, "why", f"a rule of policy {policy.name} leaves it to a person: {rule}")


def _chosen_by(keys: Keys | None, asked: PromptFacts) -> str | None:
    """The option that these keys choose: the selected one, or that of a number; None if that is not known."""
    first = keys.sequence[0] if keys else None
    if first is None or first.name not in (None, "Enter"):
        return None
    found = [one for one in asked.options if (one.selected if first.name else str(one.number) == first.literal)]
    return found[0].text if len(found) == 1 else None


def _text(about: str, most: int) -> dict[str, Any]:
    return {"type": "string", "pattern": _SAYS, "maxLength": most, "description": about}


_NUMBER = {"type": "integer", "minimum": 1, "maximum": 2**53, "description": "of the item"}


METHODS: Mapping[str, Method] = {
    "who_waits": Method(
        "What waits for a person, the oldest first (`items`, as `stallkit stuck list --json`), and what each watched"
        " session does (`sessions`, as `stallkit status --json`); `host` is this machine, `policy` the one that lets"
        " programs reply.",
        {},
        (),
        (),
        _who_waits,
    ),
    "explain": Method(
        "Look at a session for up to 3 seconds: what it does, how sure that is and why, as `stallkit check --json`,"
        " with `facts` and what each argues for. Nothing is pressed.",
        {"target": _text("tmux:NAME, or a name that stallkit started", 500)},
        ("target",),
        (),
        _explain,
    ),
    "reply": Method(
        "Answer an item of `who_waits`, with a text or with one of its options, or decline an agent's notice. It looks"
        " again first: where the item or its prompt has changed, nothing is done; a secret or a login never gets a key."
        " `result` is done, refused, changed, unseen or over, as `stallkit stuck reply --json`.",
        {
            **{"id": _NUMBER, "revision": _NUMBER},
            "text": {
                **_text("what is typed, or said to an agent; empty: Enter alone, for press_key", MOST),
                "pattern": f"^$|{_SAYS}",
            },
            "option": _text("the id or name of one of its options", 500),
            "decline": _text("why: an agent's notice is declined", MOST),
        },
        ("id", "revision"),
        tuple(_VERBS),
        _reply,
    ),
}
