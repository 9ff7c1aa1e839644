"""Variables for a program: what words and files say, and that no message has a value."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stallkit_sessions.launch import SecretPipe, as_lines, as_script, sourced

from stallkit.variables import read_variables

SECRET = "tell-nobody-4711"


def of_file(folder: Path, text: str) -> dict[str, str]:
    (folder / "v.env").write_text(text)
    return dict(read_variables((), [folder / "v.env"], {"HERE": "here"}).values)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("export A=b", "b"),
        ("  A = b c  ", "b c"),
        ("A=", ""),
        ("A=b # a comment", "b"),
        ("A=b#c", "b#c"),
        ("A='b # \"c\" $D \\n'", 'b # "c" $D \\n'),
        (r'A="b\n\t\"c\" \$D \\ \x"', 'b\n\t"c" $D \\ \\x'),
        ("A='b' # a comment", "b"),
        ("A=b=c", "b=c"),
        ("A=$HOME ${HOME} `id`", "$HOME ${HOME} `id`"),
        ("A=grün 日本", "grün 日本"),
        ("A=b\r", "b"),
    ],
)
def test_a_line_of_a_file(tmp_path: Path, line: str, value: str) -> None:
    assert of_file(tmp_path, f"# first\n\n{line}\n  # last") == {"A": value}


def test_later_files_and_then_words_take_precedence(tmp_path: Path) -> None:
    (tmp_path / "1").write_text("\ufeffA=1\nB=1\nC=1\nHERE\n")
    (tmp_path / "2").write_text("B=2\nC=2\n")
    found = read_variables(["C=3", "OWN"], [tmp_path / "1", tmp_path / "2"], {"OWN": "own", "HERE": "here"})
    assert found.values == {"A": "1", "B": "2", "C": "3", "HERE": "here", "OWN": "own"}
    assert found.named == ("C", "HERE", "OWN"), "those that another start could not read again"
    assert found.files == (str(tmp_path / "1"), str(tmp_path / "2"))
    assert "own" not in repr(found) and "'3'" not in repr(found)


@pytest.mark.parametrize(
    ("line", "where"),
    [
        (f"A='{SECRET}", "line 2: write NAME=VALUE"),
        (f'A="{SECRET}\\"', "line 2"),
        (f"A='x'{SECRET}", "line 2"),
        (f"{SECRET}", "line 2"),
        (f"1A={SECRET}", "line 2"),
        (f"A={SECRET}\0", "line 2"),
        (f"A B={SECRET}", "line 2"),
        ("NOT_SET", "NOT_SET is not set here"),
    ],
)
def test_an_error_names_the_line_and_not_its_text(tmp_path: Path, line: str, where: str) -> None:
    with pytest.raises(ValueError, match=r"v\.env") as error:
        of_file(tmp_path, f"A=b\n{line}\n")
    assert where in str(error.value) and SECRET not in str(error.value)


@pytest.mark.parametrize("word", [f"={SECRET}", f"A={SECRET}\0", ""])
def test_an_error_names_the_word_by_its_number(word: str) -> None:
    with pytest.raises(ValueError, match=r"the 2\. one: write NAME=VALUE") as error:
        read_variables(["A=1", word], (), {})
    assert SECRET not in str(error.value)


def test_a_file_that_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "v.env").write_bytes(b"A=\xff\n")
    with pytest.raises(ValueError, match="not UTF-8"):
        read_variables((), [tmp_path / "v.env"], {})


text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60)


@given(st.dictionaries(st.sampled_from(["A", "b_2", "_C"]), text, min_size=1))
def test_a_shell_reads_every_value_from_the_pipe_as_it_is(values: dict[str, str]) -> None:
    show = [word for name in values for word in ("printf", "'%s\\0'", f'"${name}"', ";")]
    with SecretPipe("a", as_script(values)) as pipe:
        words = sourced(pipe.path, ["sh", "-c", " ".join(show)])
        done = subprocess.run(words, check=True, capture_output=True)
        pipe.delivered(lambda: False)  # nothing is left
    assert done.stdout.decode().split("\0")[:-1] == list(values.values())


@pytest.mark.parametrize("value", ["a\nb", "a\rb", " a", "a ", "'a'", '"a"', "a\tb"])
def test_what_container_runtimes_read_in_different_ways_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="the value of A"):
        as_lines({"A": value})
    assert as_lines({"A": 'it\'s "b" #c', "B": ""}) == 'A=it\'s "b" #c\nB=\n'
