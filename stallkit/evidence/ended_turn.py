"""How an agent ended its turn: it is done, it asks the person something, or it failed.  Pure.

From its last message, where no signal says it.  A question counts in any language by its mark; the words are for those
that need none.
"""

from __future__ import annotations

import re
from enum import StrEnum

from attrs import frozen

from stallkit.detect.agent import NO_WORDS, Vocabulary
from stallkit.detect.composer import Composer
from stallkit.evidence.last_message import ITEM, last_message, prose
from stallkit.terminal.screen import Screen

__all__ = ["EndedTurn", "How", "LASTING", "class_of", "ended_turn", "of_failure", "of_message"]


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


# Of a failure, in the order in which they are tried.
CLASSES = tuple(
    (name, _any(*patterns))
    for name, patterns in {
        "context_full": (
            r"context (?:limit reached|window (?:exceeded|is full)|length exceeded|low)",
            r"prompt is too long|ran out of room in the model's context",
            r"input (?:length|token count).{0,40}exceeds|maximum context length|exceeds \w* ?context limit",
        ),
        "authentication_failed": (
            r"\b401\b|unauthori[sz]ed|(?:invalid (?:x-)?|incorrect )api[ -]key|api key not valid|please run /login",
            r"authentication (?:failed|error)|not logged in|\b403\b|forbidden",
        ),
        "billing_error": (r"credit balance|payment required|\b402\b|billing",),
        "connection": (
            r"ECONN\w+|ENOTFOUND|ETIMEDOUT|EHOSTUNREACH|connection (?:error|refused|reset|closed|failed)|fetch failed",
            r"unable to connect|network error|stream (?:disconnected|closed)|socket hang up|error sending request",
            r"request timed out",
        ),
        "rate_limit": (r"\b429\b|rate.?limit|too many requests|quota exceeded",),
        "overloaded": (r"\b529\b|overloaded|at capacity",),
        "refused": (
            r"(?:model|request) (?:refused|was declined)|usage policy|content (?:policy|filter)|blocked by safety",
        ),
        "server_error": (r"\b50[0-4]\b|internal server error|bad gateway|service unavailable|api_error",),
        "no_answer": (r"returned (?:an? )?(?:empty (?:response|answer|message)|no content)",),
        "invalid_request": (r"\b400\b|\b404\b|invalid_request_error|bad request|model not found",),
    }.items()
)
# Of these no further try helps.
LASTING = frozenset({"authentication_failed", "billing_error", "context_full", "invalid_request"})
# How a message begins that is an error, and no text about one.
FAILS = re.compile(
    r"(?:please run /login|there'?s an issue|unable to connect|credit balance|invalid api key|context (?:low|limit)"
    r"|(?:[\w.]*(?:api|request|stream|connection|network|llm|provider|model|litellm|agent)[\w.]* ?)?"
    r"(?:error|exception|failure)\b"
    r"|\[?(?:api|request|network|connection) ?error|unexpected status|exceeded retry limit|stream disconnected"
    r"|(?:auth\w*|conversation|chat) error:|error (?:sending|code|calling)|failed to|fetch failed|execution failed"
    r"|(?:llm |api |model )?request (?:failed|timed out)"
    r"|something went wrong|http \d{3}\b|(?:the )?model returned (?:an )?empty"
    r"|(?:the )?(?:model|request) (?:refused|not found|does not exist|returned no content|too large|is too)"
    r"|(?:authentication|authorization|access|request) (?:failed|denied)|\W*(?:error|failed):|\d{3} [A-Z])",
    re.IGNORECASE,
)
# The last row of a Python traceback.
RAISED = re.compile(r"\s*(?:\w+\.)*\w*(?:Error|Exception): ")
# A person stopped it: what it asks then is no news.
STOPPED = re.compile(r"(?:conversation |request |operation )?(?:interrupted|cancell?ed|aborted)\b", re.IGNORECASE)
SENTENCE = re.compile(r"(?<=[.!?。？！؟…])[\"'»”’)\]*_`]*(?:\s+|(?<=[。？！])|$)")
QUESTION = re.compile(r"[?？؟](?:\s*[(\[（][^)\]）]{1,40}[)\]）])?[\"'»”’)\]*_`]*[.。]?(?:\s*[^\w\s?？؟]{1,4})?$")
# It asks without a question mark.
NO_MARK = _any(
    r"(?:か|吗|呢|까요|나요)[。.]?$",
    r"\blet me know (?:if (?!you (?:have|need|run|would like|want)|anything|there)|how|which|what|whether|when)",
    r"\btell me (?:if|how|which|what|whether)",
    r"\bplease (?:confirm|choose|pick|advise)|\b(?:awaiting|waiting for|i need|i'll wait for) your",
    r"\byour (?:call|choice)\b",
    r"\b(?:once|as soon as|when|until) you (?:confirm|decide|tell|approve|reply|answer|choose)",
    r"\bsag(?:en sie)? mir|\bbitte (?:bestätige|wähle|entscheide)|\b(?:gib|geben sie) mir bescheid",
    r"\bdi(?:s|tes)[- ]moi|\bmerci de (?:confirmer|choisir)|\bveuillez (?:confirmer|choisir)",
    r"\bdime (?:si|cuál|qué)|\bav[ií]same|\bpor favor,? (?:confirma|elige|confirme|escolha)",
    r"\bfammi sapere|\bdimmi (?:se|quale)|\bconferma(?:mi)? se|\bme (?:diga|avise)|\bdiga-me",
    r"\bдай(?:те)? знать|\bскажи(?:те)?, |\bподтверди(?:те)?",
    r"请(?:确认|告诉我|选择)|(?:教えて|選んで|確認して)ください|알려 ?주세요",
)
# Thanks, and the like: the sentence before it is the last one.
CLOSING = re.compile(r"(?:\W*[\w'’]+){1,3}[!.。！]\W*$")
# A question that wants an answer, and no rhetorical one: it names the person, or asks for leave.
ASKED = _any(
    r"\b(?:you|your|(?:shall|should|may|can) (?:i|we)|want me|okay to|ok to|ready to)\b",
    r"\b(?:soll\w*|darf|möchte\w*|wollen|kann ich|dir|ihnen|dois-je|faut-il|voulez|veux|souhait\w*|puis-je)\b",
    r"\b(?:debo|quier\w+|prefier\w+|puedo|devo|vuoi|preferisc\w+|posso|quer|prefere|deseja|нужно|хотите|можно)\b",
    r"ますか|ましょうか|您|你|要不要|是否|할까요|드릴까요",
)
# The sentence behind a question speaks to the person who is asked.
TO_THE_PERSON = _any(
    r"\b(?:you|your|i'll|i will|i can|once i know|let me|reply|answer|say)\b",
    r"\b(?:du|sie|ihr|dein|ihre|vous|votre|tu|usted|tú|você|lei|вы|ваш\w*|вас|тебе|ты)\b",
    r"あなた|ください|您|你|請|请|주세요",
)


WORDS = 500  # characters of a message that are told
_OPENING = '[({"✕✗⎢⎣ '  # what may stand before the words of an error
UNKNOWN = "unknown"


class How(StrEnum):
    """How a turn ended."""

    DONE = "done"
    ASKS = "asks"
    FAILED = "failed"


@frozen
class EndedTurn:
    """How a turn ended, and the end of its last message; `error` is the class of a failure.

    `question` is the sentence that asks, alone; `whole`: the message is all of it; `at_once`: it stands right below the
    person's own line, or may.
    """

    how: How
    message: str = ""
    error: str | None = None
    question: str = ""
    whole: bool = False
    at_once: bool = True


def ended_turn(
    screen: Screen, composer: Composer | None = None, top: int | None = None, words: Vocabulary = NO_WORDS
) -> EndedTurn:
    """How the turn ended whose last message stands above the composer, which is described, or begins at row `top`.

    `words` are those of known agents.
    """
    return _of_rows(*last_message(screen, composer, top, words))


def of_message(message: str) -> EndedTurn:
    """How the turn ended whose last message is known, line by line.

    >>> of_message("I renamed it.\\n\\nShall I run the tests?").how
    <How.ASKS: 'asks'>
    """
    return _of_rows(message.split("\n"), whole=True)


def of_failure(words: str, error: str, shown: EndedTurn) -> EndedTurn:
    """How the turn ended of which its program says that it failed: in its words, or else those that are `shown`.

    Its class is the one that the program names, where that is one of ours, else the one that the words tell.

    >>> shown = EndedTurn(How.DONE, "unexpected status 401 Unauthorized")
    >>> of_failure("", "error", shown).error
    'authentication_failed'
    """
    tells = words and (class_of(words) != UNKNOWN or shown.how is not How.FAILED)
    text = words if tells else shown.message or words
    known = error in {name for name, _ in CLASSES}
    return EndedTurn(How.FAILED, text[:WORDS], error if known else class_of(f"{text} {error}"))


def _of_rows(rows: list[str], whole: bool, at_once: bool = True) -> EndedTurn:
    paragraphs = prose(rows)
    text = _said(rows)
    if FAILS.match(text.lstrip(_OPENING)):
        return EndedTurn(How.FAILED, text[:WORDS], class_of(text))
    failure = _failure_below(rows)
    if failure:
        return EndedTurn(How.FAILED, failure[:WORDS], class_of(failure))
    stopped = STOPPED.match(text) or (rows and STOPPED.match(rows[-1].lstrip(_OPENING)))
    if paragraphs and not stopped and _asks(paragraphs):
        message = _end_of(paragraphs)
        last = [one.strip() for one in SENTENCE.split(paragraphs[-1]) if one.strip()][-1]
        return EndedTurn(How.ASKS, message, question=last, whole=whole and message == _said(rows), at_once=at_once)
    return EndedTurn(How.DONE, _end_of(paragraphs))


def _failure_below(rows: list[str]) -> str:
    """The last block of the rows, where that is an error of a known class by its first words, or raises one."""
    last: list[str] = []
    for row in reversed(rows):
        if last and not row.strip():
            break
        last = [row, *last] if row.strip() else last
    raised = next((at for at in range(len(last) - 1, -1, -1) if RAISED.match(last[at])), None)
    text = _said(last[raised or 0 :])
    fails = raised is not None or FAILS.match(text.lstrip(_OPENING))
    return text if fails and class_of(text) != UNKNOWN else ""


def class_of(text: str) -> str:
    """The class of a failure, by the words that tell it.

    >>> class_of("401 invalid x-api-key"), class_of("It broke.")
    ('authentication_failed', 'unknown')
    """
    return next((name for name, pattern in CLASSES if pattern.search(text)), UNKNOWN)


def _asks(paragraphs: list[str]) -> bool:
    """Whether the last sentence asks, or the one before it, where the last one speaks to the person.

    The options of a question are below it: a list at the end is passed over, if what is above it asks.
    """
    above = paragraphs[:]
    while above and ITEM.match(above[-1]):
        if any(_question(sentence) for sentence in SENTENCE.split(above.pop())):
            return True
    last = above[-2:] or paragraphs[-1:]
    sentences = [one.strip() for paragraph in last for one in SENTENCE.split(paragraph) if one.strip()]
    if not sentences:
        return False
    if len(sentences) > 1 and CLOSING.match(sentences[-1]):
        sentences.pop()
    if _question(sentences[-1]) or _question(paragraphs[-1]):
        return True
    if len(sentences) < 2 or not _question(sentences[-2]):
        return False
    return bool(TO_THE_PERSON.search(sentences[-1]) or ASKED.search(sentences[-2]))


def _question(sentence: str) -> bool:
    return bool(QUESTION.search(sentence.strip()) or NO_MARK.search(sentence.strip()))


def _end_of(paragraphs: list[str]) -> str:
    text = " ".join(paragraphs)
    return text if len(text) <= WORDS else f"…{text[-WORDS:]}"


def _said(rows: list[str]) -> str:
    """All of a message, on one line: code and quotations too."""
    return " ".join(" ".join(rows).split())
