"""Manifests: what they may say, and that each mistake is named by its line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from boxed import manifest
from stallkit_sessions.manifest import Mount, read_manifest
from stallkit_sessions.sandbox_session import Folders, Place, options_of, private_places, variables_of, why_private

from stallkit.errors import ConfigError, StartRefused

WHOLE = """
name = "web"
engine = "docker"
image = "agent:1"
command = ["claude", "--print"]
directory = "~/web"
interactive = true
branch = "fix/login"
repository = "https://git.example/acme/web.git"
pull_request = 17
comment = ["gh"]
env = ["LANG"]
env_files = ["/etc/web.env"]
tools = ["/usr/bin/jq"]
skills = ["~/skills/review"]
ports = [0, 8080]
network = "web-net"
transcript = "/home/agent/.claude"

[[mounts]]
source = "/srv/data"
target = "/data"

[proxies]
egress = "http://10.0.0.1:8888"
credential = "http://10.0.0.1:8377"
direct = ["localhost"]
"""


def test_all_of_it_is_read() -> None:
    found = read_manifest(WHOLE, "web.toml")
    assert found.directory == str(Path.home() / "web") and found.skills == [str(Path.home() / "skills" / "review")]
    assert found.mounts == [Mount("/srv/data", "/data")] and found.proxies.direct == ["localhost"]
    assert (found.interactive, found.pull_request, found.branch) == (True, 17, "fix/login")


def test_a_mistake_is_one_line_that_says_where() -> None:
    for old, new, line, says in [
        ('name = "web"', 'name = "../web"', 2, "letters"),
        ('name = "web"', 'name = "web"\nnam = 1', 3, "unknown key nam"),
        ('engine = "docker"', 'engine = "lxc"', 3, "none of docker"),
        ('image = "agent:1"', "", 1, "need an image"),
        ('engine = "docker"\nimage = "agent:1"', 'engine = "bwrap"', 16, "none, host"),
        ('["claude", "--print"]', "[]", 5, "no program"),
        ('["claude", "--print"]', '"claude"', 5, "not a list"),
        ('"~/web"', '"web"', 6, "no absolute path"),
        ('"fix/login"', '"--force"', 8, "no name of a branch"),
        ('"https://git.example/acme/web.git"', '"ext::sh -c it"', 9, "no address"),
        ('"https://git.example/acme/web.git"', '"--upload-pack=it"', 9, "no address"),
        ('"https://git.example/acme/web.git"', '"https://ada:pw@git.example/web"', 9, "password"),
        ('"https://git.example/acme/web.git"', '"https://ghp_token@git.example/web"', 9, "token"),
        ('"https://git.example/acme/web.git"', '"web.git"', 9, "neither"),
        ('["LANG"]', '["TOKEN=abc"]', 12, "no name of a variable"),
        ("[0, 8080]", "[70000]", 16, "port"),
        ('"/data"', '"/run/stallkit/x"', 22, "no place in the sandbox"),
        ('"/data"', '"/opt/../proc"', 22, "no place in the sandbox"),
        ('"http://10.0.0.1:8888"', '"http://a:b@10.0.0.1:1"', 25, "password"),
        ('"http://10.0.0.1:8888"', '"10.0.0.1:1"', 25, "no address of a proxy"),
        ("pull_request = 17", "", 11, "no pull request"),
        ('["/usr/bin/jq"]', '["/usr/bin/jq", "/bin/jq"]', 14, "same name"),
    ]:
        assert old in WHOLE, (old, new)
        with pytest.raises(ConfigError, match=says) as raised:
            read_manifest(WHOLE.replace(old, new), "web.toml")
        assert raised.value.line == line and "\n" not in str(raised.value), (old, new)
        assert "pw" not in str(raised.value) and "ghp_token" not in str(raised.value), (old, new)


def test_what_is_no_toml_says_so() -> None:
    with pytest.raises(ConfigError, match=r"web\.toml:2"):
        read_manifest("name = 'a'\nengine = ", "web.toml")


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path / "s", tmp_path / "g", tmp_path / "t")


def refused(text: str, folders: Folders) -> str:
    with pytest.raises(StartRefused) as raised:
        options_of(read_manifest(text, "m.toml"), folders, None)
    return raised.value.why


def mounting(source: Path | str, work: Path) -> str:
    return manifest(work, "[[mounts]]", f'source = "{source}"', 'target = "/data"')


def test_no_private_place_is_mounted(tmp_path: Path, folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    state, home, work = tmp_path / "state", tmp_path / "home", tmp_path / "work"
    for path in (state / "stuck" / "other", home / ".ssh", work):
        path.mkdir(parents=True)
    (state / "queue.db").touch()
    monkeypatch.setenv("STALLKIT_STATE_DIR", str(state))
    monkeypatch.setenv("HOME", str(home))
    link = tmp_path / "innocent"
    link.symlink_to(state)
    for path in (state, state / "queue.db", state / "stuck" / "other", home / ".ssh", home, tmp_path, "/", link):
        assert "has" in refused(mounting(path, work), folders) or "with" in refused(mounting(path, work), folders)
    for given in ({"directory": home}, {"directory": link}, {"directory": state / "stuck"}):
        assert "mounts" in refused(manifest(given["directory"]), folders)
    assert "skills" in refused(manifest(work, skills=[str(home / ".ssh")]), folders)
    assert options_of(read_manifest(manifest(work), "m"), folders, None)  # and else it is allowed
    socket = tmp_path / "place" / "tmux.sock"
    socket.parent.mkdir()
    with pytest.raises(StartRefused, match="tmux"):
        options_of(read_manifest(mounting(socket.parent, work), "m"), folders, str(socket))


def test_what_a_sandbox_could_replace_by_a_link_is_not_mounted(tmp_path: Path, folders: Folders) -> None:
    """It would lead to any place of the machine at the next start, which may be a supervisor's."""
    work, outer, other = tmp_path / "work", tmp_path / "outer", tmp_path / "other"
    for path in (work / "data", outer / "tree", other / "deep" / "er"):
        path.mkdir(parents=True)
    (work / "tool").touch()
    (work / "env").touch()
    (tmp_path / "to").symlink_to(work / "link")
    (work / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    why = "could put a link in its place"
    for text in (
        mounting(work / "data", work),
        mounting(tmp_path / "to", work),  # by way of a link in the work tree
        manifest(work, tools=[str(work / "tool")]),
        manifest(work, skills=[str(work / "data")]),
        manifest(work, env_files=[str(work / "env")]),
        manifest(outer / "tree", "[[mounts]]", f'source = "{outer}"', 'target = "/o"', "writable = true"),
    ):
        assert why in refused(text, folders)
    for allowed in (mounting(work, outer), mounting(outer, work), mounting(other / "deep", work)):
        assert options_of(read_manifest(allowed, "m"), folders, None)
    with pytest.raises(StartRefused, match=why):
        options_of(read_manifest(mounting(other / "deep", work), "m"), folders, None, [str(other)])


def test_what_is_hidden_in_the_home_directory_is_no_mount(
    tmp_path: Path, folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    skill, tool, data = home / ".claude" / "skills" / "review", home / ".local" / "bin" / "jq", home / ".cfg" / "data"
    for path in (skill, tool.parent, data, work):
        path.mkdir(parents=True)
    tool.touch()
    monkeypatch.setenv("HOME", str(home))
    for text in (
        mounting(data, work),
        manifest(data),
        manifest(work, skills=[str(skill)]),
        manifest(work, tools=[str(tool)]),
    ):
        assert "is hidden" in refused(text, folders)
    (skill / "SKILL.md").touch()
    tool.chmod(0o755)
    assert options_of(read_manifest(manifest(work, skills=[str(skill)], tools=[str(tool)]), "m"), folders, None)


def test_what_does_not_exist_is_not_mounted(tmp_path: Path, folders: Folders) -> None:
    (tmp_path / "work").mkdir()
    assert "No such file" in refused(mounting(tmp_path / "none", tmp_path / "work"), folders)
    (tmp_path / "file").touch()
    assert "no directory" in refused(manifest(tmp_path / "file"), folders)


def test_a_repository_that_the_sandbox_could_write_is_no_remote(tmp_path: Path, folders: Folders) -> None:
    """A push to it would run hooks that the agent wrote."""
    (tmp_path / "work" / "bare.git").mkdir(parents=True)
    for remote in (tmp_path / "work" / "bare.git", tmp_path / "work", (tmp_path / "work" / "bare.git").as_uri()):
        why = refused(manifest(tmp_path / "work", repository=str(remote)), folders)
        assert "hooks would run here" in why


def test_variables_are_named_and_their_values_not_kept(tmp_path: Path) -> None:
    found = read_manifest(manifest(tmp_path, env=["TOKEN"]), "m")
    assert variables_of(found, {"TOKEN": "abc"}).values == {"TOKEN": "abc"}
    with pytest.raises(StartRefused, match="TOKEN is not set here"):
        variables_of(found, {})


def test_docker_gets_the_mounts_as_csv(tmp_path: Path, folders: Folders) -> None:
    odd = tmp_path / 'a"b,c'
    odd.mkdir()
    text = manifest(tmp_path / "w", "[[mounts]]", f"source = '{odd}'", "target = '/data'", engine="docker", image="a:1")
    (tmp_path / "w").mkdir()
    words = options_of(read_manifest(text, "m"), folders, None)
    assert f'type=bind,"source={tmp_path}/a""b,c","target=/data",readonly' in words
    assert words[words.index("--network") + 1] == "none"


def test_places_are_compared_as_the_kernel_finds_them() -> None:
    places = [Place(Path("/a/b"), "it")]
    assert why_private("/a/b/c", places) and why_private("/a", places) and why_private("/", places)
    assert why_private("/a/x/../b", places) and not why_private("/a/bc", places)
    assert any(place.path == Path(os.path.realpath("/run/docker.sock")) for place in private_places())
