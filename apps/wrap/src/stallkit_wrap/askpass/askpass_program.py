"""The askpass program: it reports the prompt, asks where nobody else reads, and prints the answer.

Asked is at the controlling terminal, else in a tmux pop-up.  Else nothing is asked: it fails at once, and says why and
how the prompt can be answered.  The answer goes to standard output, and nowhere else.
"""

from __future__ import annotations

import os
import signal
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from attrs import evolve

from stallkit.errors import StallkitError
from stallkit.probes.procfs import Process, boot_id, stat_of
from stallkit.signals.collect import prompt_line
from stallkit.terminal.text import escaped
from stallkit_wrap.askpass import dialogue
from stallkit_wrap.askpass.dialogue import Question, remedy, who_asks
from stallkit_wrap.askpass.popup import PopUp, asked_in, look, refusal
from stallkit_wrap.askpass.prompts import AskedPrompt, publish, withdraw

USAGE = 2
_UNASKED = 1


class NotAsked(StallkitError):
    """There is no place where the prompt could be asked, or nobody answered it."""

    def __init__(self, prompt: AskedPrompt, why: str) -> None:
        super().__init__("no answer for", f"{prompt.who} (pid {prompt.pid})", why, remedy(prompt.who))


def main() -> NoReturn:
    """The program's arguments are its folder, given by its launcher, and the prompt."""
    if len(sys.argv) != 3:
        print("stallkit: the askpass program is called by git, ssh or sudo, with a prompt", file=sys.stderr)
        sys.exit(USAGE)
    for number in (signal.SIGTERM, signal.SIGHUP):  # so that the terminal and the report are left in order
        signal.signal(number, lambda *_: sys.exit(_UNASKED))
    folder, question = Path(sys.argv[1]), Question.of(sys.argv[2], os.environ.get("SSH_ASKPASS_PROMPT", ""))
    prompt = _described(question)
    try:
        with suppress(OSError):  # a prompt that cannot be reported can be answered nevertheless
            publish(folder, prompt)
        answer = _asked(folder, prompt, question)
    except StallkitError as error:
        print(f"stallkit: {escaped(str(error))}", file=sys.stderr)
        sys.exit(_UNASKED)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    finally:
        withdraw(folder, prompt)
    sys.exit(_given(question, answer))


def _given(question: Question, answer: bytes) -> int:
    """Print the answer, where one is wanted; returns the exit status."""
    if question.wants == "nothing":
        return 0
    if question.wants == "yes":
        if answer.strip().lower() != b"yes":
            return _UNASKED
        answer = b"yes"
    try:
        os.write(sys.stdout.fileno(), answer + b"\n")
    except OSError:  # whoever asked is gone
        return _UNASKED
    return 0


def _described(question: Question) -> AskedPrompt:
    ours, parent = Process.ours(), os.getppid()
    asker = stat_of(parent)
    return AskedPrompt(
        who=who_asks(asker.name) if asker else "a program",
        pid=parent,
        prompt=prompt_line(question.words),
        kind=question.kind,
        since=time.time(),
        directory=_here(),
        waits=ours.pid,
        waits_started=ours.started,
        boot=boot_id(),
        session=os.environ.get("STALLKIT_SESSION", ""),
    )


def _asked(folder: Path, prompt: AskedPrompt, question: Question) -> bytes:
    """The answer, from the first place where the prompt can be asked.  Raises NotAsked."""
    terminal = _terminal()
    why = refusal(look(terminal))
    answer: bytes | None = None
    if why is None and terminal is not None:
        try:
            answer = dialogue.ask(
                terminal,
                question,
                heading="",
                lost=lambda: refusal(look(terminal)),
                on_asked=lambda: _placed(folder, prompt, "terminal"),
            )
        except dialogue.TerminalLost as error:
            why = str(error)
        except (OSError, termios.error) as error:
            why = f"its terminal went away ({error})"
        else:
            if answer is None:
                raise NotAsked(prompt, "the answer was an end of file")
            return answer

    try:
        pop_up = PopUp.of(os.environ)
        heading = f"{prompt.who} (pid {prompt.pid}) in {prompt.directory} asks:"
        answer = asked_in(pop_up, folder, question, heading, on_asked=lambda: _placed(folder, prompt, "pop-up"))
    except StallkitError as error:
        raise NotAsked(prompt, f"{why}, and there is no pop-up: {getattr(error, 'why', error)}") from error
    except OSError as error:
        raise NotAsked(prompt, f"{why}, and there is no pop-up: {error.strerror or error}") from error
    if answer is None:
        raise NotAsked(prompt, "the pop-up was closed without an answer")
    return answer


def _placed(folder: Path, prompt: AskedPrompt, place: str) -> None:
    with suppress(OSError):
        publish(folder, evolve(prompt, place=place))


def _terminal() -> int | None:
    """The controlling terminal, opened; None if there is none."""
    try:
        return os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None


def _here() -> str:
    try:
        return os.getcwd()  # noqa: PTH109  # a text, also of a folder that was removed
    except OSError:
        return ""
