"""docs/fleet.md is true: each line is typed as it stands, in order, on the machine that its prompt names."""

from __future__ import annotations

import doctest
import json
import re
import shlex
import shutil
from configparser import ConfigParser
from pathlib import Path
from typing import Iterator

import pytest
from small_network import Network, await_server, lacking
from terminals import wait_for

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "fleet.md"
UNIT = Path("/lib/systemd/system/nats-server.service")  # of the package
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMPT = re.compile(r"^(?:ada@\w+\$|root@\w+#) ", re.MULTILINE)
_SLOW_S = 90.0  # a host is unreachable after 15 s, and may try to reach the bus but every 15 s

# What only looks: a person types it again until it shows what they wait for.
LOOKS = re.compile(r"stallkit fleet (list|stuck list|policy list|report|doctor)|stallkit stuck list|tmux capture-pane")


def commands(page: str) -> Iterator[tuple[str, str, str]]:
    """Each command of the page's console blocks: the machine, what is typed there, and what the page says it prints."""
    for block in _BLOCK.findall(page):
        prompts = _PROMPT.findall(block)
        for prompt, typed in zip(prompts, _PROMPT.split(block)[1:], strict=True):
            command, output = re.split(r"(?<!\\)\n", typed, maxsplit=1)  # a line that ends in \ goes on
            yield prompt.split("@")[1].rstrip("$# "), command, output


class Tour:
    """The four machines of the page, and who types."""

    def __init__(self, network: Network, folder: Path) -> None:
        self.network, self.bus = network, network["bus"]
        self._etc, state = folder / "etc", folder / "lib"
        self.bus.does("cp", "-a", "/etc", str(self._etc))
        state.mkdir()
        self.bus.has("/etc", self._etc)
        self.bus.has("/var/lib", state)

    def types(self, host: str, command: str, wanted: str) -> None:
        """Type a command on that machine; what it prints has to be what the page says."""
        if host == "bus" and command.startswith("apt install "):
            assert shutil.which(command.rpartition(" ")[2]), "scripts/test installs it"
        elif command.startswith("systemctl "):
            self._systemctl(*command.split()[1:])
        elif command.startswith("scp bus:/etc/"):
            path, name = command.removeprefix("scp bus:/etc/").split()
            shutil.copy(self._etc / path, self.network[host].home / name)
        else:
            said: list[str] = []
            patience_s = _SLOW_S if LOOKS.match(command) else 0.0
            wait_for(lambda: self._prints(host, command, wanted, said), Said(host, command, wanted, said), patience_s)

    def _prints(self, host: str, command: str, wanted: str, said: list[str]) -> bool:
        line = f"cd {shlex.quote(str(ROOT))}; {command}" if host == "bus" else command
        done = self.network[host].run("bash", "-c", line)
        said[:] = [done.stdout + done.stderr]
        fails = wanted.startswith("stallkit: ")
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        return bool(done.returncode) == fails and doctest.OutputChecker().check_output(wanted, said[0], flags)

    def _systemctl(self, verb: str, service: str) -> None:
        """What systemd does with the unit of the package: no machine here has one."""
        unit = ConfigParser(interpolation=None, strict=False)
        unit.read(UNIT.with_name(f"{service}.service"))
        stop = 'test -e server || exit 0; kill -INT "$(cat server)"; while kill -0 "$(cat server)"; do sleep 0.1; done'
        if verb in ("stop", "restart"):
            self.bus.run("sh", "-c", stop)
        if verb in ("start", "restart"):
            given = unit["Service"]
            as_user = ["setpriv", "--reuid", given["User"], "--regid", given["Group"], "--clear-groups"]
            begin = 'echo $$ >server; exec "$@"'
            self.bus.begin("sh", "-c", begin, "sh", *as_user, *given["ExecStart"].split())
            await_server(self.bus, "bus")


class Said:
    """What was wanted, for the one who reads why a test failed."""

    def __init__(self, host: str, command: str, wanted: str, said: list[str]) -> None:
        self._line, self._wanted, self._said = f"{host}: {command}", wanted, said

    def __str__(self) -> str:
        return f"{self._line}\nwanted:\n{self._wanted}\ngot:\n{''.join(self._said)}"


@pytest.fixture
def tour(tmp_path: Path) -> Iterator[Tour]:
    if missing := lacking():
        pytest.skip(missing)
    with Network(tmp_path, ("bus", "a", "b", "c")) as network:
        yield Tour(network, tmp_path)


def test_the_page_is_true(tour: Tour) -> None:
    for host, command, wanted in commands(PAGE.read_text()):
        tour.types(host, command, wanted)
    for words, parts in ((("list",), ("hosts", "sessions")), (("policy", "list"), ("versions",))):
        found = json.loads(tour.network["a"].does("stallkit", "fleet", *words, "--json"))
        keys = {key for part in parts for one in found[part] for key in one} | {*found} - {"version"}
        assert keys <= fields(PAGE.read_text(), " ".join(words)), "the page names each key"


def fields(page: str, command: str) -> set[str]:
    """The keys that the page names for a command's JSON."""
    [row] = re.findall(rf"^\| `stallkit fleet {command}` \| (.*) \|$", page, re.MULTILINE)
    return {*re.findall(r"`(\w+)`", row)}


def test_the_page_types_what_it_speaks_of() -> None:
    typed = {command.partition(" --")[0] for _, command, _ in commands(PAGE.read_text())}
    for begin in ("create", "join", "list", "stuck list", "reply c/1 y", "report", "doctor", "policy put night.toml"):
        assert any(one.startswith(f"stallkit fleet {begin}") for one in typed), begin


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("```console\nada@a$ echo 1\n1\nroot@bus# id\n```\n", [("a", "echo 1", "1\n"), ("bus", "id", "")]),
        ("```console\nada@b$ echo 1 \\\n  2\n1 2\n```\n", [("b", "echo 1 \\\n  2", "1 2\n")]),
        ("```console\n$ echo 1\n```\n```sh\nada@a$ id\n```\n", []),
    ],
)
def test_the_commands_of_a_page(page: str, found: list[tuple[str, str, str]]) -> None:
    assert list(commands(page)) == found


def test_a_wrong_page_is_noticed(tour: Tour) -> None:
    tour.types("a", "hostname", "a\n")
    for command, wanted in (("hostname", "b\n"), ("false", ""), ("stallkit fleet lst", "")):
        with pytest.raises(AssertionError, match=f"a: {command}"):
            tour.types("a", command, wanted)
