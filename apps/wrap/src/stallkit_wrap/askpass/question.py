"""What an askpass program is asked for, from the words that it is called with: pure."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

__all__ = ["Question", "remedy", "who_asks"]

Hint = Literal["confirm", "none"]
HOST_KEY = "(yes/no"  # "... (yes/no/[fingerprint])? ", and "(yes/no)? " of older ones
USER_NAME = "Username for "

_REMEDIES = {
    "git": "run it in a terminal of its own, or set a credential helper (git config credential.helper)",
    "ssh": "run it in a terminal of its own, or first ssh-add the key, or accept the host key, there",
    "sudo": "run it in a terminal of its own, or first sudo -v there",
}


@frozen
class Question:
    """A prompt, with how it is answered.

    >>> Question.of("Enter passphrase for key '/home/a/.ssh/id': ").kind
    'secret'
    >>> Question.of("Username for 'https://host.example': ").echo
    True
    """

    words: str
    kind: Literal["secret", "confirm", "text"]
    wants: Literal["text", "yes", "nothing"] = "text"  # yes: only the exit status counts; nothing: it is a notice

    @property
    def echo(self) -> bool:
        """Whether what is typed may be shown."""
        return self.kind != "secret"

    @classmethod
    def of(cls, words: str, hint: str = "") -> Question:
        """The question; `hint` is what ssh gives in SSH_ASKPASS_PROMPT.  What is not known asks for a secret."""
        if hint == "confirm":
            return cls(words, "confirm", "yes")
        if hint == "none":
            return cls(words, "confirm", "nothing")
        if HOST_KEY in words:
            return cls(words, "confirm")
        return cls(words, "text" if words.startswith(USER_NAME) else "secret")


def who_asks(name: str) -> str:
    """The program that a person knows, by the name of the process that asks.

    >>> who_asks("git-remote-http"), who_asks("ssh-keygen")
    ('git', 'ssh-keygen')
    """
    return "git" if name.startswith("git-") else name


def remedy(who: str) -> str:
    """How a prompt is answered that could not be asked here."""
    return _REMEDIES.get(who.partition("-")[0], "run it in a terminal of its own")
