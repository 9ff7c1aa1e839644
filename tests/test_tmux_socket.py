"""Which tmux server a command reaches: by a flag, the environment, the settings, or as tmux itself would."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stallkit.config import TMUX_SOCKET
from stallkit.errors import ConfigError
from stallkit.settings import TmuxSocket, chosen, inherited


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of a command; the user's own settings are in ``config`` below it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config" / "stallkit").mkdir(parents=True)
    return tmp_path


def settings(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


def test_a_flag_then_the_environment_then_the_project_then_the_user(project: Path) -> None:
    users = settings(project / "config" / "stallkit" / "stallkit.toml", '[tmux]\nsocket = "users"\n')
    assert str(chosen(None, None, {})) == "users"
    settings(project / "stallkit.toml", '[watch]\nfrobnicate = 1\n[tmux]\nsocket = "projects"\n')
    assert str(chosen(None, None, {})) == "projects"
    assert str(chosen(None, None, {}, config=users)) == "users", "a named file counts alone"
    here = {TMUX_SOCKET: "environments"}
    assert str(chosen(None, None, here)) == str(chosen(None, None, here, config=users)) == "environments"
    assert chosen("flags", None, here).name == "flags"
    assert chosen(None, "flags", here).path == str(project / "flags")


def test_where_nobody_says_it_is_the_choice_of_tmux(project: Path) -> None:
    assert chosen(None, None, {TMUX_SOCKET: ""}) == TmuxSocket()
    settings(project / "stallkit.toml", "[watch]\nall = true\n")
    assert chosen(None, None, {}) == TmuxSocket()
    with pytest.raises(ConfigError, match="there is no such file"):
        chosen(None, None, {}, config=project / "none.toml")


@pytest.mark.parametrize(
    ("text", "name", "path"),
    [
        ("work", "work", None),
        ("/srv/tmux.sock", None, "/srv/tmux.sock"),
        ("./sockets/a", None, "{}/sockets/a"),
        ("~/t.sock", None, "{home}/t.sock"),
    ],
)
def test_a_name_or_a_path_below_the_folder_of_the_file(project: Path, text: str, name: str, path: str) -> None:
    (project / "sub").mkdir()
    file = settings(project / "sub" / "own.toml", f'[tmux]\nsocket = "{text}"\n')
    found = chosen(None, None, {}, config=file)
    assert found.name == name and found.by == str(file)
    assert found.path == (path and path.format(project / "sub", home=Path.home()))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[tmux\n", "own.toml:1"),
        ("[tmux]\n\nsocket = 3\n", r"own.toml:3, \[tmux\]: 3 is not a text"),
        ('[tmux]\nsocket = " "\n', r"own.toml:2, \[tmux\]: it names no socket"),
        ("tmux = 3\n", "3 is not a text"),
    ],
)
def test_what_is_invalid_is_told_and_no_other_server_is_taken(project: Path, text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        chosen(None, None, {}, config=settings(project / "own.toml", text))


def test_what_lies_in_the_working_directory_names_a_server_at_most(project: Path) -> None:
    for text in ('"/tmp/any.sock"', '"./any.sock"', '"~/x"', "3", '" "', '"a b"', "[]"):
        told = list[str]()
        settings(project / "stallkit.toml", f"[tmux]\nsocket = {text}\n")
        assert chosen(None, None, {}, tell=told.append) == TmuxSocket(), text
        assert len(told) == 1 and told[0].startswith("stallkit.toml:2: tmux.socket is ignored"), text
    (project / "stallkit.toml").unlink()
    (project / "stallkit.toml").mkdir()
    assert chosen(None, None, {}, tell=told.append) == TmuxSocket() and "is not a plain file" in told[-1]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_does_not_lead_to_a_socket_of_another_user(project: Path) -> None:
    socket = settings(project / "foreign.sock", "")
    os.chown(socket, 12_345, 12_345)
    file = settings(project / "own.toml", f'[tmux]\nsocket = "{socket}"\n')
    with pytest.raises(ConfigError, match="belongs to another user"):
        chosen(None, None, {}, config=file)
    assert chosen(None, str(socket), {}).path == str(socket), "a person may"


def test_children_inherit_it_as_long_as_the_command_runs() -> None:
    environment = {TMUX_SOCKET: "before"}
    with inherited(TmuxSocket(name="now"), environment):
        assert environment == {TMUX_SOCKET: "now"}
    assert environment == {TMUX_SOCKET: "before"}
    with inherited(TmuxSocket(), environment):
        assert environment == {TMUX_SOCKET: "before"}
    with inherited(TmuxSocket(path="/a/b"), empty := {}):
        assert empty == {TMUX_SOCKET: "/a/b"}
    assert empty == {}
