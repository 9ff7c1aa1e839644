"""The public interface: each name once, from one place, and nothing heavy behind `import stallkit`."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import types
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import Iterator

import pexpect
import pytest
import stallkit_sessions

import stallkit
from stallkit.press.gate import End
from stallkit.testing import examples


def test_every_public_name_is_defined_once() -> None:
    assert len(set(stallkit.__all__)) == len(stallkit.__all__)
    for name in stallkit.__all__:
        assert getattr(stallkit, name).__doc__, f"{name} has no docstring"


# A choice of types has no docstring of its own.
FOREIGN = {"Decision"}


def told_of(doc: str) -> str | None:
    """What a docstring lacks; None where it says what the thing is, in a sentence, and shows how it is used."""
    first = doc.strip().split("\n\n")[0].replace("\n", " ")
    if not re.match(r"[A-Z`].*[.;:]", first) or len(first) < 15:
        return "a first sentence that says the meaning"
    return None if re.search(r"^\s*>>> ", doc, re.MULTILINE) or "``async with" in doc else "an example"


@pytest.mark.parametrize("name", sorted({*stallkit.__all__} - FOREIGN))
def test_every_public_name_says_what_it_is_and_shows_it(name: str) -> None:
    thing = getattr(stallkit, name)
    assert told_of(thing.__doc__) is None
    if isinstance(thing, type):
        for part, value in vars(thing).items():
            doc = getattr(value, "__doc__", None) if callable(value) or isinstance(value, property) else "A part."
            own = isinstance(value, property | classmethod | types.FunctionType)
            assert part.startswith("_") or not own or doc, f"{name}.{part} has no docstring"


@pytest.mark.parametrize("doc", ["", "thing", "A thing that does it.", "    >>> 1\n    1"])
def test_a_docstring_that_says_too_little_is_found(doc: str) -> None:
    assert told_of(doc) is not None


def test_what_type_checkers_see_is_what_is_loaded() -> None:
    package = ast.parse(Path(str(stallkit.__file__)).read_text())
    froms = [node for node in ast.walk(package) if isinstance(node, ast.ImportFrom)]
    told = {one.name: node.module for node in froms for one in node.names if one.asname == one.name}
    assert told == stallkit._HOME_OF  # type: ignore[attr-defined]


ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("docs/examples/*.py"), *ROOT.glob("*/*/README.md")]
MODULES = {"stallkit", "stallkit.testing", "stallkit.signals", "stallkit.cli.command_set"}  # docs/embedding.md says so
_IMPORT = re.compile(
    r"^(?:>>> |\.\.\. )? *(?:from (stallkit(?:\.[\w.]+)?) import ([\w, ]+)|import (stallkit(?:\.[\w.]+)?)$)", re.M
)


def imports(text: str) -> list[str]:
    """What the Python of a page imports of stallkit that is not public."""
    found = [(module or plain, names.replace(" ", "").split(",")) for module, names, plain in _IMPORT.findall(text)]
    private = [module for module, _ in found if module not in MODULES]
    return private + [name for module, names in found if module == "stallkit" for name in names if name not in PUBLIC]


PUBLIC = {*stallkit.__all__, ""}


def test_every_documented_task_needs_public_names_alone() -> None:
    assert len(stallkit.__all__) <= 60
    assert sum(len(_IMPORT.findall(page.read_text())) for page in PAGES) >= 15
    assert {page.name: found for page in PAGES if (found := imports(page.read_text()))} == {}
    page = (ROOT / "docs" / "embedding.md").read_text()
    assert all(f"`{module}`" in page for module in MODULES)


def test_a_page_that_needs_another_module_is_found() -> None:
    wrong = ">>> from stallkit.press.rules import Rule\n from stallkit import Scene\nimport stallkit.probes.procfs\n"
    assert imports(wrong) == ["stallkit.press.rules", "stallkit.probes.procfs", "Scene"]
    assert imports("from stallkit import check\nimport stallkit\nfrom stallkit.testing import keys\n") == []


def test_there_is_nothing_else() -> None:
    public = {name for name in dir(stallkit) if not name.startswith("_")}
    assert public == set(stallkit.__all__)
    try:
        stallkit.no_such_name  # noqa: B018  # the access is the test
    except AttributeError as error:
        assert "no_such_name" in str(error)
    else:
        raise AssertionError("an unknown name was found")


def test_import_pulls_in_nothing_heavy() -> None:
    heavy = ["pexpect", "sqlite3", "asyncio", "click", "rich", "hypothesis", "pytest", "textual"]
    code = f"import sys, stallkit; stallkit.Screen; stallkit.Engine; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


SECRET = "hunter2hunter2"


def every_value() -> Iterator[object]:
    """Values of each public kind, of what packs' own screens show and of a screen with a secret."""
    engine, asks = stallkit.Engine.default(), f"Use {SECRET} as the new password.\nProceed? [y/N] "
    screens = [one.screen for pack in PACKS for one in islice(examples(pack), 40)]
    for screen in (stallkit.Screen.from_text(asks), *screens):
        session = stallkit.MemoryTransport(screen)
        detection, look = engine.detect(screen), session.capture()
        verdict = stallkit.judge(detection, look)
        yield from (screen, detection, look, verdict)
        yield from (stallkit.may_press(verdict, policy) for policy in ("careful", "daemon", "observe"))
        yield from (detection.match,) if detection.match else ()
    for pack in engine.packs:
        yield from (pack, *pack.signatures)
        for signature in pack.signatures:
            yield from (*signature.all_of, *signature.dialogs, stallkit.Press(signature))
            yield from (signature.dismissal,) if signature.dismissal else ()
            yield stallkit.Choose(signature, f"password: {SECRET}")
    yield from (stallkit.load_policy(name) for name in ("careful", "daemon", "observe"))
    yield from stallkit.load_policy("daemon").rules
    why = f"doubtful: on the line 'password: {SECRET}'"
    for kind in (stallkit.Escalate, stallkit.Wait, stallkit.Restart, stallkit.Resume, stallkit.Stop):
        yield from (kind(why), kind("long " * 200))
    typed = stallkit.Keys.typed(SECRET)
    yield from (stallkit.Ignore(), typed, stallkit.Outcome(End.CLEARED, why, typed), stallkit.Resume("over", typed))
    yield from (stallkit.check(session, "careful"), session, engine, stallkit.StreamTransport(), stallkit.Options())
    yield from (stallkit.ProcessFacts("vim", 1), stallkit.EventLog(Path("events.jsonl")))
    yield stallkit.Event("escalation", "tmux:w1", {"message": asks})
    yield stallkit_sessions.run(["sh", "-c", f"echo {SECRET}; exit 3"])
    with stallkit.PtyTransport.spawn(["cat"]) as program:
        yield program
    with stallkit.PexpectTransport(pexpect.spawn("cat")) as adopted:
        yield adopted


PACKS = ("stallkit_claude_code", "stallkit_shell_auth", "stallkit_shell_tools", "stallkit_shell_yn")


def test_a_value_shows_itself_on_one_short_line_without_a_screen_or_a_secret() -> None:
    """In a traceback, a log or at a prompt: a screen may hold a secret, a pack fills pages."""
    kinds, wrong = set[str](), set[str]()
    for value in every_value():
        shown = repr(value)
        kinds.add(type(value).__name__)
        if len(shown) > 200 or "\n" in shown or SECRET in shown or " object at 0x" in shown:
            wrong.add(shown)
    assert wrong == set()
    public = {name: getattr(stallkit, name) for name in stallkit.__all__}
    values = {name for name, one in public.items() if isinstance(one, type) and not issubclass(one, Enum | Exception)}
    assert values - kinds == {"Transport"}, "a protocol has no values"
