"""TOML files: every value's line, whatever the file looks like, and every fault in one line."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from attrs import field, frozen
from hypothesis import given
from hypothesis import strategies as st

from stallkit.toml_file import Keys, Lines, TomlError, parse_toml, read_toml, structured

BUNDLED = [
    "stallkit_claude_code",
    "stallkit_node_prompts",
    "stallkit_shell_auth",
    "stallkit_shell_tools",
    "stallkit_shell_yn",
]


@pytest.mark.parametrize("package", BUNDLED)
def test_every_value_of_a_real_pack_has_its_line(package: str) -> None:
    file = parse_toml((resources.files(package) / "signatures.toml").read_bytes(), "p")
    lines = file.text.split("\n")

    def check(way: Keys, value: Any) -> int:
        line = lines[file.lines.at[way] - 1]
        if isinstance(way[-1], str):
            assert "[[signature]]" in line if way == ("signature",) else way[-1] in line
        inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        return 1 + sum(check((*way, key), one) for key, one in inner)

    assert sum(check((key,), value) for key, value in file.data.items()) == len(file.lines.at)


@pytest.mark.parametrize(
    ("text", "way", "line"),
    [
        ('a = [\n  { id = "x" },\n  # ,\n  { id = "y", b = 3 }\n]', ("a", 1, "b"), 4),
        ("[[a]]\nx = 1\n[[a.b]]\nt = 1\n[[a.b]]\nt = 2\n[[a]]\n[a.c]\nd = 1", ("a", 0, "b", 1, "t"), 6),
        ("[[a]]\nx = 1\n[[a]]\n[a.c]\nd = 1", ("a", 1, "c", "d"), 5),
        ("a.b.c = 1\na.d = 2", ("a", "d"), 2),
        ("a.b.c = 1\na.d = 2", ("a",), 1),
        ("a = '''\n[[b]]\nb = 1\n'''\nb = 1.5e3", ("b",), 5),
        ('x = 1\n"a b" = [[1,\n2], [3]]', ("a b", 0, 1), 3),
        ("x = 1\n[a]\nb = 1", ("a", "none", 3), 2),  # the nearest that is known
        ("\nx = 1", ("none",), 1),
        ("", ("none",), None),
    ],
)
def test_the_line_of_a_value(text: str, way: Keys, line: int | None) -> None:
    lines = parse_toml(text, "p").lines
    assert lines.of(*way) == lines.under(*way[:1]).of(*way[1:]) == line


@given(
    st.lists(st.sampled_from([*"[]{}=,.#\"'\\\n \t", "[[signature]]\n", "id", "all_of = [", "'''", '"""'])).map("".join)
)
def test_whatever_is_toml_has_lines(text: str) -> None:
    try:
        file = parse_toml(text, "p")
    except TomlError as error:
        assert error.line is not None and error.line <= text.count("\n") + 1
    else:
        assert isinstance(file.lines, Lines) and set(file.data) == {way[0] for way in file.lines.at if len(way) == 1}


@pytest.mark.parametrize(
    ("content", "line", "why"),
    [
        (b"a = 1\nb = \xff", 2, "not UTF-8"),
        (b"a = 1\nb = ", 2, "Invalid value"),
        (b'a = 1\nb = ["""', 2, "end of document"),
        (b"a = " + b"1" * 5_000, 1, "Exceeds the limit"),
        (b"a = " + b"[" * 5_000, 1, "recursion"),
    ],
)
def test_what_is_no_toml_is_named_by_its_line(tmp_path: Path, content: bytes, line: int, why: str) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(content)
    with pytest.raises(TomlError, match=why) as caught:
        read_toml(path)
    assert caught.value.line == line


@frozen
class _Part:
    size: int = 3
    names: list[str] = field(factory=list)
    long_s: float = 1.0


@frozen
class _Whole:
    name: str
    part: _Part = field(factory=_Part)


def test_a_table_is_an_attrs_class() -> None:
    text = 'name = "a"\n[part]\nnames = ["b"]\nlong_s = "3m"'
    assert structured(parse_toml(text, "p"), _Whole) == _Whole("a", _Part(names=["b"], long_s=180.0))


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("name = 3", 1, "3 is not a text @ $.name"),
        ("[part]\nsize = 1", 1, "name is missing @ $.name"),
        ("name = 'a'\n[part]\nsize = true", 3, "True is not a whole number @ $.part.size"),
        ("name = 'a'\n[part]\n\nnames = 'b'", 4, "'b' is not a list @ $.part.names"),
        ("name = 'a'\n[part]\nsiz = 3", 3, "unknown key siz, known are size, names, long_s @ $.part"),
        ("name = 'a'\nsize = 3", 2, "unknown key size (it belongs in [part]), known are name, part @ $"),
        ("name = 'a'\n[part]\nlong_s = '3'", 3, "'3' is not a number @ $.part.long_s"),
    ],
)
def test_a_value_that_does_not_fit_is_named_by_its_line(text: str, line: int, why: str) -> None:
    with pytest.raises(TomlError) as caught:
        structured(parse_toml(text, "p"), _Whole)
    assert (caught.value.line, caught.value.why) == (line, why)
