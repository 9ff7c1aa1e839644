"""What a person hears about an event, in few and harmless words.  Pure.

An event's texts come from a terminal: a notice has no secrets, no control characters and nothing hidden, is one line
each, and not long.
"""

from __future__ import annotations

import re
from typing import Any

from attrs import frozen

from stallkit.detect.signature import State
from stallkit.evidence.signal import Guard
from stallkit.press.events import Event
from stallkit.redact.redact import redact_all
from stallkit.terminal.text import cut, escaped
from stallkit_supervisor.notification import ending

CLEARED, SUMMARY = "cleared", "summary"
TITLE, BODY, NAME, QUESTION, CHOICES = 80, 300, 40, 120, 110  # characters
MARK = "\u276f "  # of the selected option

_SIDES = " \u2502\u2503\u2551\u258c\u2590"  # of a frame
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\w)")
_ASKS = re.compile(r"\w[\w\"')\]\u201d\u00bb]*\s?[?\uff1f\u061f]")
_PROMPT = re.compile(r"(?:[:\uff1a]|\[[^\[\]]+\])$")

_COUNTED = re.compile(r"\d+/(\d+)")
_BETWEEN = re.compile(r"\s{2,}|\s*[│▸]\s*")

# What is said of a session, by what happened to it.
_SAID = {
    "waits": "waits for an answer",
    "asks": "asks a question",
    "failed": "failed",
    "ended": "ended",
    "limit": "reached a limit",
    "hung": "seems to hang",
    "retrying": "keeps retrying",
    "unknown": "needs a look",
    "escalation": "needs a person",
    "notice": "asks for help",
    "auto_stop": "was halted",
    "gone": "is gone",
    "incident": "ended, with its sessions",
    "could_not_look": "could not be looked at",
    "outcome_unknown": "may have got a key, or not",
    "not_recorded": "could not be recorded",
    "defect": "met a defect of stallkit",
    "reload_refused": "keeps its old settings",
    "test": "sends a test notice",
    "summary": "held notices back",
    "run_waiting": "waits for an answer",
    "run_may_wait": "may wait for an answer",
    "run_started": "was started",
    "run_answered": "was answered",
    "run_ended": "ended",
    "cleared": "needs nobody any more",
}


@frozen
class Notice:
    """A title and a body for people; a notice replaces an earlier one of the same `key`, its session."""

    key: str
    title: str
    body: str

    @classmethod
    def of(cls, event: Event) -> Notice:
        """The notice of an event.

        >>> notice = Notice.of(Event("escalation", "tmux:w1", {"what": "waits", "line": "Proceed? [y/N]"}))
        >>> notice.title, notice.body
        ('w1 waits for an answer', 'Proceed? [y/N]')
        """
        facts: dict[str, Any] = redact_all(event.facts)
        what, name = what_of(event), short(event.target)
        again = "still " if _is_again(facts) and event.name != CLEARED else ""
        said = _SAID.get(what, _SAID.get(event.name, event.name))
        details = [_asked(facts), facts.get("why")] if event.name != CLEARED else [_answered(facts)]
        last = f" \u00b7 {to_answer}" if (to_answer := _to_answer(facts)) and event.name != CLEARED else ""
        body = _one_line(" \u00b7 ".join(dict.fromkeys(str(part) for part in details if part)), BODY - len(last))
        body = f"{body}{last}".removeprefix(" \u00b7 ")
        return cls(event.target, _one_line(f"{name} {again}{said}", TITLE), body)

    @property
    def line(self) -> str:
        """Title and body as one line."""
        return f"{self.title}: {self.body}" if self.body else self.title


def what_of(event: Event) -> str:
    """What an event is about, as settings name it: ``waits``, ``failed``, ... where it says so, else its own name."""
    what = event.facts.get("what")
    return what if isinstance(what, str) and what and event.name != CLEARED else event.name


def short(target: str) -> str:
    """A target's name for people; stallkit's own, if it is of no session."""
    return _one_line(redact_all(target.removeprefix("tmux:")), NAME) or "stallkit"


def duration(seconds: float) -> str:
    """A time for people.

    >>> [duration(one) for one in (0.4, 59, 300, 7_260, 90_000)]
    ['0 s', '59 s', '5 min', '2 h 1 min', '25 h']
    """
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes = round(whole / 60)
    hours, minutes = divmod(minutes, 60)
    return " ".join([*([f"{hours} h"] if hours else []), *([f"{minutes} min"] if minutes else [])])


def _is_again(facts: dict[str, Any]) -> bool:
    times = facts.get("times")
    return isinstance(times, int) and times > 1


def _asked(facts: dict[str, Any]) -> str | None:
    """What it asks: an agent's last message, a dialog's command or question, or the line of the prompt."""
    request = facts.get("request")
    fields = request if isinstance(request, dict) else _said(facts)
    if fields.get("question"):
        return cut(in_a_line(fields["question"]), QUESTION) + _choices(facts, fields)
    parts = (facts.get("message"), fields.get("command"), fields.get("question"), facts.get("line"))
    found = next((part for part in parts if isinstance(part, str) and part.strip()), None)
    return question_first(found) if found else None


def _said(facts: dict[str, Any]) -> dict[str, Any]:
    """The fields that the program itself says of what it waits for, by a way that nobody else can take."""
    found = (one for one in facts.get("signals") or () if one.get("counts") and one.get("guard") == Guard.PROCESS)
    return next((one["fields"] for one in found if one.get("state") == State.WAITING and one.get("fields")), {})


def _choices(facts: dict[str, Any], fields: dict[str, Any]) -> str:
    """How many questions there are, and the options of this one, as far as there is room."""
    several = f" (of {count} questions)" if (count := how_many(fields.get("questions", ""))) > 1 else ""
    options = enumerate(facts.get("options") or (), 1)
    told = (f" \u00b7 {MARK if one['selected'] else ''}{number}. {one['text']}" for number, one in options)
    return several + cut("".join(told), CHOICES)


def _to_answer(facts: dict[str, Any]) -> str | None:
    """How it is answered from elsewhere, if it has a number."""
    item = facts.get("item")
    return f"stallkit stuck show {item}" if isinstance(item, int) else None


def _answered(facts: dict[str, Any]) -> str:
    by, seconds = facts.get("by"), facts.get("blocked_s")
    who = ending(by) if isinstance(by, str) and by else ""
    after = f"after {duration(seconds)}" if isinstance(seconds, (int, float)) else ""
    return " ".join(filter(None, (who, after)))


def _one_line(text: str, most: int) -> str:
    """Text in which nothing is hidden, shortened to `most` characters."""
    shown = escaped(" ".join(text[: 4 * most].split()))
    return shown if len(shown) <= most else f"{shown[: most - 1]}\u2026"


def in_a_line(text: str) -> str:
    """The words of a screen on one line, without the rows that an editor leaves empty.

    >>> in_a_line("~\\n~\\n notes.txt  [New]")
    'notes.txt [New]'
    """
    return " ".join(word for word in text.split() if word != "~")


def question_first(text: str) -> str:
    """The words of a screen or a message on one line, the row or sentence that asks before the others.

    >>> question_first("Reading lists... Done\\n 3 to upgrade.\\nDo you want to continue? [Y/n]")
    'Do you want to continue? [Y/n] \xb7 Reading lists... Done 3 to upgrade.'
    >>> question_first("All is done.  Shall I push it?")
    'Shall I push it? \xb7 All is done.'
    """
    rows = [in_a_line(row.strip(_SIDES)) for row in text.split("\n") if any(map(str.isalnum, row))]
    parts = [part for row in rows for part in (_SENTENCE.split(row) if len(rows) == 1 else [row])]
    asking = [place for place, part in enumerate(parts) if _ASKS.search(part)]
    if not asking and parts and _PROMPT.search(parts[-1]):
        asking = [len(parts) - 1]
    if not asking:
        return in_a_line(text)
    others = " ".join(part for place, part in enumerate(parts) if place != asking[-1])
    return " \xb7 ".join(filter(None, (parts[asking[-1]], others)))


def how_many(questions: str) -> int:
    """How many questions a dialog's own row of them says: ``1/3``, or their names, of which the last sends the answers.

    >>> how_many("1/3"), how_many("☐ Policy  ☐ Storage  ✔ Submit"), how_many("□ Policy │ ≡ Review"), how_many("")
    (3, 2, 1, 1)
    >>> how_many("Policy ✓ ▸ Storage  Submit")
    2
    """
    if (counted := _COUNTED.fullmatch(questions)) is not None:
        return int(counted[1])
    return max(len(list(filter(None, _BETWEEN.split(questions)))) - 1, 1)
