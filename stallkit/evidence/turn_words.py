"""The words by which an agent's last message tells how its turn ended: errors by class, and questions without a mark.

What models, their interfaces and agents write, in the languages the packs know.
"""

from __future__ import annotations

import re

__all__ = [
    "ASKED",
    "CLASSES",
    "CLOSING",
    "FAILS",
    "LASTING",
    "NO_MARK",
    "QUESTION",
    "RAISED",
    "SENTENCE",
    "STOPPED",
    "TO_THE_PERSON",
]


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
