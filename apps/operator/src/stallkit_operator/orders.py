"""What a person orders, as values: the verbs on one item of the queue, and how a line that is typed is read.  Pure.

It is read as the command line is: ``r 3 try again`` is what ``stallkit stuck r 3 try again`` is, and ``r c/3 try
again`` what ``stallkit fleet reply c/3 try again`` is.
"""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from enum import StrEnum

from attrs import frozen

from stallkit.detect.signature import Kind
from stallkit_operator.item import Category, Choice, ChoiceKind, Item, Source

_REF = re.compile(r"(?:([\w-]{1,63})/)?(?!0+$)([0-9]{1,15})", re.ASCII)
BY_ITSELF = ("triage", "rebuild", "waive", "routes", "egress")  # what no host does for another
_ON_TERMINAL = ("routes", "egress", "pipelock")  # commands that open an editor
_USAGE = "write one of: r ID TEXT|OPTION, approve ID, decline ID [WHY], triage ID CATEGORY, show ID, "
_MORE = "routes edit|reload SANDBOX, egress edit SANDBOX, rebuild ID, waive SUBJECT --why WHY, waivers, quit"


class Verb(StrEnum):
    """How a person answers."""

    REPLY = "reply"
    APPROVE = "approve"
    DECLINE = "decline"
    ANSWER = "answer"


@frozen
class Order:
    """An answer to one item; `text` is the reply, the reason, or the option; no `host`: the item is of this machine."""

    verb: Verb
    id: int
    text: str = ""
    host: str = ""


@frozen
class Triage:
    """What blocks the agent of a notice; None: it is not known."""

    id: int
    category: Category | None


@frozen
class Elsewhere:
    """A command of `stallkit` that needs the terminal for itself: its words."""

    words: tuple[str, ...]


@frozen
class Look:
    """Show this item; no `host`: it is of this machine."""

    id: int
    host: str = ""


@frozen
class Quit:
    """Leave."""


def ref(host: str, id: int) -> str:
    """What an item is called: ``3``, on another host ``c/3``."""
    return f"{host}/{id}" if host else str(id)


def by_itself(what: str, host: str) -> str:
    """Why something is not done from here."""
    return f"{what}: do this on {host} itself"


def chosen(order: Order, item: Item) -> Choice | str | None:
    """What an order answers the item with: an option, or a text; None: it is taken off the list without an answer.

    Raises ValueError if the item has no such option.
    """
    match order.verb:
        case Verb.REPLY:
            named = item.option(order.text) if item.source is Source.PROMPT else None
            return named or order.text
        case Verb.APPROVE if item.source is Source.AGENT:
            return "approved"
        case Verb.APPROVE:
            return item.choice(ChoiceKind.ALLOW_ONCE) or _no_option(item, "allows it once")
        case Verb.DECLINE:
            if not item.options or not item.open:
                return None
            return item.choice(ChoiceKind.REJECT_ONCE) or _no_option(item, "rejects it")
    found = item.option(order.text)
    if found is None:
        ids = ", ".join(one.id for one in item.options) or "none: stallkit stuck reply"
        raise ValueError(f"item {item.id} has no option {order.text!r}; it has {ids}")
    return found


_REMEDIES = {  # what frees an agent, by category
    Category.CREDENTIAL: {"edit": "edit its routes", "reload": "have the proxy read a renewed token"},
    Category.EGRESS: {"edit": "edit the hosts that it reaches"},
    Category.CAPABILITY: {"rebuild": "edit its manifest, and start it anew"},
}


def ways(item: Item) -> dict[str, Choice | str]:
    """What can be done about an open item: by verb or by the name of a key, the option that it chooses, or words."""
    agent, by_hand = item.source is Source.AGENT, item.state == "auth_required" or item.kind == Kind.EDITOR
    if not item.open:
        return {}
    found: dict[str, Choice | str] = {}
    for verb in (Verb.APPROVE, Verb.DECLINE) if not by_hand else (Verb.DECLINE,) if not item.options else ():
        with suppress(ValueError):
            match chosen(Order(verb, item.id), item):
                case Choice() as option:
                    found[verb] = option
                case None:
                    found[verb] = "tell the agent no, and why" if agent else "take it off the list, without an answer"
                case text:
                    found[verb] = f"tell the agent: {text}"
    if by_hand:
        return {"window": "answer it at its own terminal: nobody else does", **found}
    triage = {"triage": "say what blocks it"} if agent else {}
    found |= _REMEDIES[item.category] if item.category else triage
    return {Verb.REPLY: "send the agent your words" if agent else "type your words", **found}


def read_line(line: str, own: str = "") -> Order | Triage | Elsewhere | Look | Quit:
    """The order in a line that a person typed; `own` is what this machine is called in its fleet.

    Raises ValueError, which says what can be written.

    >>> read_line("r c/3 try  again")
    Order(verb=<Verb.REPLY: 'reply'>, id=3, text='try  again', host='c')
    >>> read_line("approve c/3", own="c")
    Order(verb=<Verb.APPROVE: 'approve'>, id=3, text='', host='')
    >>> read_line("stallkit sandbox routes edit web")
    Elsewhere(words=('sandbox', 'routes', 'edit', 'web'))
    """
    verb, rest = _first(line.strip())
    for prefix in ("stallkit", "stuck", "sandbox", "fleet"):
        if verb == prefix:
            verb, rest = _first(rest)
    if verb in ("q", "quit", "exit") and not rest:
        return Quit()
    if own:
        rest = rest.removeprefix(f"{own}/")
    named, text = _first(rest)
    found = _REF.fullmatch(named)
    if found and found[1] and verb in BY_ITSELF:
        raise ValueError(by_itself(verb, found[1]))
    if verb in _ON_TERMINAL:
        return Elsewhere(("sandbox", "egress" if verb == "pipelock" else verb, *_words(rest)))
    if verb == "waivers" or (verb in ("rebuild", "waive", "unwaive") and rest):
        return Elsewhere(("sandbox", verb, *_words(rest)))
    known = {"r": Verb.REPLY, **{str(one): one for one in Verb}}
    if verb not in {*known, "triage", "show"}:
        raise ValueError(_USAGE + _MORE)
    if found is None:
        raise ValueError(f"{verb}: which one? give the number in front of it: {verb} 3")
    host, id = found[1] or "", int(found[2])
    if verb == "show" and not text:
        return Look(id, host)
    if verb == "triage":
        try:
            return Triage(id, None if text == "none" else Category(text))
        except ValueError:
            raise ValueError(f"triage: give one of {', '.join(Category)}, none") from None
    if verb not in known or (known[verb] is Verb.APPROVE and text):
        raise ValueError(f"{verb}: it takes a number, and nothing else")
    if known[verb] in (Verb.REPLY, Verb.ANSWER) and not text:
        raise ValueError(f"{verb} {named}: give {'a text' if known[verb] is Verb.REPLY else 'one of its options'}")
    return Order(known[verb], id, text, host)


def _first(line: str) -> tuple[str, str]:
    word, _, rest = line.partition(" ")
    return word, rest.strip()


def _words(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError as error:
        raise ValueError(f"{error}: close the quotes") from None


def _no_option(item: Item, what: str) -> Choice:
    todo = "choose one that show lists, or reply" if item.options else "reply with what is to be typed"
    todo = "go to its own terminal" if item.kind == Kind.EDITOR else todo
    raise ValueError(f"item {item.id} has not exactly one option that {what}: {todo}")
