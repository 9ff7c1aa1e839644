"""Pages, help texts and docstrings are in plain English: turns that nobody speaks, each with what to write instead."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Iterator

import click
import pytest

from stallkit.cli.main import cli, summary

ROOT = Path(__file__).parent.parent

# A turn, as a pattern of whole words in any letter case, and what a colleague would say.
BANNED = {
    r"(is|are|was|were|be|been) told": "say who tells whom: stallkit tells you, you hear about it",
    r"(is|was) said": "say who says it",
    r"what (is|was) (told|asked|said|shown|seen|done) (so|of)": "name the thing, and who does it",
    r"what (is|was|else is) there": "name it",
    r"what there is": "name it",
    r"what came of": "the result of",
    r"by itself": "on its own, or leave it out",
    r"all the same": "anyway",
    r"for all that": "still",
    r"it, over": "two sentences",
    r"(needed|is|are|was|does|do) no more": "no longer",
    r"by now": "meanwhile",
    r"anew": "again",
    r"once more": "again",
    r"but for": "except",
    r"in place of": "instead of",
    r"upon": "on",
    r"as (it|they) stands?": "unchanged",
    r"stands? there": "is there",
    r"to the letter": "exactly",
    r"in good order": "normally",
    r"(is|are) due": "must, should",
    r"(is|are) to be": "must be",
    r"is another one": "has changed, is a different one",
    r"such a one|one such": "name it",
    r"see to it": "handle it",
    r"mend(s|ed|ing)?": "fix",
    r"held against": "compared with",
    r"as far as (that|it|this) (goes|counts)": "if it counts",
    r"(by|of|to|for|from|with) whom": "turn the sentence: who ...",
    r"(there|here|where)(by|of|upon|with|in)": "two sentences",
    r"whence|hence|thus|lest|ere|albeit": "so, or otherwise",
    r"shall": "will, must",
    r"(only|even|also|except|none|empty|nothing|true|false) where": "if",
    r"where (it|that|this|they) (is|are|has|have|does|do|can|cannot|may|will)": "if",
}
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_DOCTEST = re.compile(r"^ *>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)
_SHOWN = re.compile(r'`[^`]+`|"[^"\n]*"')  # what a program prints, a person types, or somebody else wrote


def turns(text: str) -> Iterator[str]:
    """The banned turns of a text that no fence, code or quotation marks have around them, each with what to write."""
    prose = " ".join(_SHOWN.sub("", _FENCE.sub("", text)).split())
    for turn, instead in BANNED.items():
        for found in re.finditer(rf"\b(?:{turn})\b", prose, re.IGNORECASE):
            around = prose[max(0, found.start() - 40) : found.end() + 20]
            yield f"{found[0]!r}: write {instead}; in: {around}"


def helps(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """The words of a command's ``--help`` and of its line in a list, and of those below it, by what a person types."""
    options = (getattr(option, "help", None) or "" for option in command.params)
    verb = context.command_path.removeprefix("stallkit ")
    listed = command.short_help or summary(verb)
    yield context.command_path, "\n".join([command.help or "", listed or "", *options])
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if below := command.get_command(context, name):
                yield from helps(below, click.Context(below, info_name=name, parent=context))


def texts() -> dict[str, str]:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]
    commands = helps(cli, click.Context(cli, info_name="stallkit", **cli.context_settings))
    return {str(page.relative_to(ROOT)): page.read_text() for page in pages} | dict(commands)


def faults(source: str, name: str) -> Iterator[str]:
    """The banned turns of the docstrings of a module, each with the file and the line where its docstring begins."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for turn in turns(_DOCTEST.sub("", ast.get_docstring(node) or "")):
                yield f"{name}:{node.body[0].lineno}: {turn}"


TEXTS = texts()
SOURCES = sorted(
    path for folder in ("stallkit", "apps/*/src", "plugins/*/src") for path in ROOT.glob(f"{folder}/**/*.py")
)


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_colleague_would_say_it_so(name: str) -> None:
    assert not list(turns(TEXTS[name]))


def test_docstrings_too() -> None:
    assert not [fault for path in SOURCES for fault in faults(path.read_text(), str(path.relative_to(ROOT)))]


def test_a_planted_docstring_is_found_with_file_and_line() -> None:
    planted = '''"""A module."""

class Desk:
    async def ask(self):
        """A person
        is told.

        >>> tell("me")
        'as it stands'
        """

def tell(): "None where nobody asks."
TOLD = "It is told by itself."
'''
    found = [fault.partition(": write ")[0] for fault in faults(planted, "desk.py")]
    assert sorted(found) == ["desk.py:12: 'None where'", "desk.py:5: 'is told'"]


@pytest.mark.parametrize(
    "text",
    [
        "A person is told.",
        "It is closed by\nitself.",
        "Only where it fits.",
        "| a row | Mend it |",
        "Nobody was\n  told `why`",
        "say it anew",
        "as it stands, but for one",
    ],
)
def test_a_planted_turn_is_found(text: str) -> None:
    assert list(turns(text))


@pytest.mark.parametrize(
    "text", ["`by` is `by itself`", "```\nis told\n```\n", '"Shall I go on?"', "commend a hereditary lesson"]
)
def test_what_is_shown_or_only_similar_is_no_turn(text: str) -> None:
    assert not list(turns(text))


def test_a_planted_help_text_is_found() -> None:
    @click.group(help="Watch.")
    @click.option("--exec", help="Run it.")
    def group(exec: str) -> None: ...

    @group.command("below", help="Watch it.\n\nA person is\ntold.")
    @click.option("--for", "span", help="End it by itself.")
    def below(span: str) -> None: ...

    found = dict(helps(group, click.Context(group, info_name="stallkit")))
    assert [len(list(turns(found[name]))) for name in ("stallkit", "stallkit below")] == [0, 2]


def test_every_turn_can_be_found() -> None:
    assert len(BANNED) >= 30 and all(re.compile(turn) and instead for turn, instead in BANNED.items())
    assert {"README.md", "docs/watch.md", "stallkit watch", "stallkit stuck reply"} <= TEXTS.keys()
    assert {ROOT / "stallkit/redact/redact.py", ROOT / "plugins/form/src/stallkit_form/claim.py"} <= set(SOURCES)
    assert (summary("check") or "none") in TEXTS["stallkit check"]
