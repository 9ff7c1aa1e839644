"""What a replacement is told of the sandbox before it: a file for the agent, a comment for the pull request.  Pure."""

from __future__ import annotations

from typing import Iterator, Sequence

from stallkit_sessions.manifest import GIVEN, SOCKET_PLACE

from stallkit.redact.redact import redact
from stallkit_operator.item import Item
from stallkit_operator.sandbox.rebuild_plan import Rebuilding

__all__ = ["GO_ON", "comment_of", "comment_words", "hand_off"]

GO_ON = f"Your sandbox was rebuilt. Read {GIVEN}/hand-off.md first, then go on with the work."  # said to the agent

_FORGES = {
    "gh": ["gh", "pr", "comment", "{pull_request}", "--repo", "{repository}", "--body", "{text}"],
    "tea": ["tea", "comment", "--repo", "{slug}", "{pull_request}", "{text}"],
}


def hand_off(
    rebuilding: Rebuilding, diff: Sequence[str], items: Sequence[Item], transcript: bool, commit: str, failed: str = ""
) -> str:
    """The file for the agent; `items` are the notices of the sandbox before, the oldest first.

    `failed` is why the replacement did not start, if the agent is in the sandbox as it was.
    """
    return "\n".join([*_lines(rebuilding, diff, items, transcript, commit, failed), ""])


def _lines(
    rebuilding: Rebuilding, diff: Sequence[str], items: Sequence[Item], transcript: bool, commit: str, failed: str
) -> Iterator[str]:
    yield f"# You go on with the work of sandbox {rebuilding.sandbox}"
    yield ""
    if failed:
        yield f"It was to be rebuilt, by {rebuilding.by}: {rebuilding.why}"
        yield f"That failed, and it was started again as it was: {failed}"
    else:
        yield f"The sandbox before you was replaced, by {rebuilding.by}: {rebuilding.why}"
    yield f"The work tree is as it was left; what it was is also in commit {commit[:12]}."
    if transcript:
        yield f"What the agent before you did is in {GIVEN}/transcript (read-only)."
    yield ""
    yield f"## What {'was to change' if failed else 'changed'} in the sandbox"
    yield ""
    yield from (f"    {line}" for line in diff or ["nothing"])
    for item in items:
        yield ""
        yield f"## Asked as number {item.id}"
        yield ""
        yield from (f"    {line}" for line in item.words.splitlines())
        yield ""
        if item.text is not None:
            yield f"Answer ({item.state}):"
            yield ""
            yield from (f"    {line}" for line in item.text.splitlines())
        elif item.id == rebuilding.item and not failed:
            yield f"Answer: this sandbox was rebuilt for it. {rebuilding.why}"
        else:
            yield f"It has no answer yet: ask again with {SOCKET_PLACE}/stuck, if it still matters."


def comment_of(rebuilding: Rebuilding, diff: Sequence[str], commit: str, ref: str) -> str:
    """The comment on the pull request; secrets in it are masked."""
    changed = "\n".join(f"    {line}" for line in diff) or "    nothing"
    return redact(
        f"Sandbox {rebuilding.sandbox} was rebuilt by {rebuilding.by}: {rebuilding.why}\n\n"
        f"The work before it is in {ref}, commit {commit[:12]}. Changes of its manifest:\n\n{changed}\n"
    )


def comment_words(command: Sequence[str], repository: str, pull_request: int, text: str) -> list[str]:
    """The command that comments: the one that is given, or that of a forge's own client by its name alone.

    >>> comment_words(["tea"], "ssh://git@git.example/acme/web.git", 17, "done")
    ['tea', 'comment', '--repo', 'acme/web', '17', 'done']
    """
    words = _FORGES.get(command[0], list(command)) if len(command) == 1 else list(command)
    path = repository.removesuffix("/").removesuffix(".git").replace(":", "/").split("/")
    given = {"pull_request": str(pull_request), "repository": repository, "slug": "/".join(path[-2:]), "text": text}
    return [given.get(word[1:-1], word) if word[:1] == "{" else word for word in words]
