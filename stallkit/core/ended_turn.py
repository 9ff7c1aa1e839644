"""How an agent ended its turn: it is done, it asks the person something, or it failed.  Pure.

From its last message, where no signal says it.  A question counts in any language by its mark; the words are for those
that need none.
"""

from __future__ import annotations

import re
from enum import StrEnum

from attrs import frozen

from stallkit.core.composer import Composer
from stallkit.core.last_message import last_message, prose
from stallkit.core.screen import Screen

__all__ = ["EndedTurn", "How", "ended_turn"]

WORDS = 500  # characters of a message that are told


class How(StrEnum):
    """How a turn ended."""

    DONE = "done"
    ASKS = "asks"
    FAILED = "failed"


@frozen
class EndedTurn:
    """How a turn ended, and the end of its last message; `error` is the class of a failure."""

    how: How
    message: str = ""
    error: str | None = None


# A failure, by class: what agents and the interfaces they use write.  In the order in which they are tried.
_ERRORS = (
    ("context_full", r"context (?:limit reached|window (?:exceeded|is full)|length exceeded)|prompt is too long"
                     r"|ran out of room in the model's context|input (?:length|token count).{0,40}exceeds|context low"),
    ("authentication_failed", r"\b401\b|unauthori[sz]ed|invalid (?:x-)?api[ -]key|incorrect api key|api key not valid"
                              r"|please run /login|authentication (?:failed|error)|not logged in|\b403\b|forbidden"),
    ("billing_error", r"credit balance|payment required|\b402\b|billing"),
    ("connection", r"ECONN\w+|ENOTFOUND|ETIMEDOUT|EHOSTUNREACH|connection (?:error|refused|reset|closed|failed)"
                   r"|fetch failed|unable to connect|network error|stream (?:disconnected|closed)|socket hang up"
                   r"|error sending request|request timed out"),
    ("rate_limit", r"\b429\b|rate.?limit|too many requests|quota exceeded"),
    ("overloaded", r"\b529\b|overloaded|at capacity"),
    ("refused", r"(?:model|request) (?:refused|was declined)|usage policy|content (?:policy|filter)|blocked by safety"),
    ("server_error", r"\b50[0-4]\b|internal server error|bad gateway|service unavailable|api_error"),
    ("invalid_request", r"\b400\b|\b404\b|invalid_request_error|bad request|model not found"),
)  # fmt: skip
_CLASSES = tuple((name, re.compile(pattern, re.IGNORECASE)) for name, pattern in _ERRORS)
# The beginning of a message that is an error, and no text about one.
_FAILS = re.compile(
    r"^(?:(?:please run /login|there'?s an issue|unable to connect|credit balance|invalid api key|context (?:low|limit))"
    r"|(?:[\w.]*(?:api|request|stream|connection|network|llm|provider|model|litellm)[\w.]* ?)?(?:error|exception|failure)\b"
    r"|\[?(?:api|request|network|connection) ?error|unexpected status|exceeded retry limit|stream disconnected"
    r"|error (?:sending|code)|failed to|fetch failed|request (?:failed|timed out)|execution failed|\W*(?:error|failed):"
    r"|model (?:refused|not found)|\d{3} [A-Z])",
    re.IGNORECASE,
)
# A person stopped it: what it asks then is no news.
_STOPPED = re.compile(r"(?:conversation |request |operation )?(?:interrupted|cancell?ed|aborted)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?。？！؟…])[\"'»”’)\]*_`]*(?:\s+|(?<=[。？！])|$)")
_QUESTION = re.compile(r"[?？؟;]?[?？؟][\"'»”’)\]*_`]*$")
_NO_MARK = re.compile(
    r"(?:か|でしょうか|ますか|吗|呢|까요|나요)[。.]?$"
    r"|\b(?:let me know (?:if|how|which|what|whether|when)|tell me (?:if|how|which|what|whether)|please (?:confirm|choose|pick|advise)"
    r"|awaiting your|waiting for your|(?:i need|i'll wait for) your|your (?:call|choice)\b"
    r"|sag(?:en sie)? mir|bitte (?:bestätige|wähle|entscheide)|gib mir bescheid|geben sie mir bescheid"
    r"|dis[- ]moi|dites[- ]moi|merci de (?:confirmer|choisir)|veuillez (?:confirmer|choisir)"
    r"|dime (?:si|cuál|qué)|av[ií]same|por favor,? (?:confirma|elige)|fammi sapere|dimmi (?:se|quale)|conferma(?:mi)? se"
    r"|me (?:diga|avise)|diga-me|por favor,? (?:confirme|escolha)|дай(?:те)? знать|скажи(?:те)?, |подтверди(?:те)?)"
    r"|请(?:确认|告诉我|选择)|(?:教えて|選んで|確認して)ください|알려 ?주세요",
    re.IGNORECASE,
)
_TO_THE_PERSON = re.compile(
    r"\b(?:you|your|i'll|i will|i can|let me|reply|answer|say|du|sie|ihr|dein|ihre|vous|votre|tu|usted|tú|você|lei|вы|ваш\w*|вас|"
    r"тебе|ты)\b|あなた|ください|您|你|請|请|주세요",
    re.IGNORECASE,
)
_ITEM = re.compile(r"^(?:[-*•·]|\d+[.)]|[A-Za-z][.)]|\[.\])\s+")


def ended_turn(screen: Screen, composer: Composer | None = None) -> EndedTurn:
    """How the turn ended whose last message stands above the composer, which may be described."""
    rows = last_message(screen, composer)
    paragraphs = prose(rows)
    text = " ".join(" ".join(rows).split())
    if _FAILS.match(text.lstrip("[(✕✗ ")):
        return EndedTurn(How.FAILED, text[:WORDS], _class_of(text))
    if paragraphs and not _STOPPED.match(text) and _asks(paragraphs):
        return EndedTurn(How.ASKS, _end_of(paragraphs))
    return EndedTurn(How.DONE, _end_of(paragraphs))


def _class_of(text: str) -> str:
    return next((name for name, pattern in _CLASSES if pattern.search(text)), "unknown")


def _asks(paragraphs: list[str]) -> bool:
    """Whether the last sentence asks, or the one before it, where the last one speaks to the person.

    The options of a question are below it: a list at the end is passed over, if what is above it asks.
    """
    above = paragraphs[:]
    while above and _ITEM.match(above[-1]):
        above.pop()
    last = [part for part in (above[-2:] or paragraphs[-1:])]
    sentences = [one.strip() for paragraph in last for one in _SENTENCE.split(paragraph) if one.strip()]
    if not sentences:
        return False
    if _question(sentences[-1]) or _question(paragraphs[-1]):
        return True
    return len(sentences) > 1 and _question(sentences[-2]) and bool(_TO_THE_PERSON.search(sentences[-1]))


def _question(sentence: str) -> bool:
    return bool(_QUESTION.search(sentence.strip()) or _NO_MARK.search(sentence.strip()))


def _end_of(paragraphs: list[str]) -> str:
    text = " ".join(paragraphs)
    return text if len(text) <= WORDS else f"…{text[-WORDS:]}"
