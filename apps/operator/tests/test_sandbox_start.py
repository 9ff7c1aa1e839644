"""Sandboxes from manifests: what is recorded, what is in them, and that no key gets in."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from contextlib import closing
from typing import Iterator

import pytest
from boxed import hooked, manifest, need_bwrap, pane, shows, start, start_agent
from composed import ENGINE
from printed import printed
from repositories import commit, git
from stallkit_operator.answering import Result, answer_item
from stallkit_operator.item import Item, Who
from stallkit_operator.queue import Queue
from stallkit_operator.queue_sync import draft_of
from stallkit_operator.sandbox.sandbox_start import composer_of
from stallkit_operator.sandbox.sandboxes import Sandboxes
from stallkit_sessions.explain import hints
from stallkit_sessions.manifest import read_manifest
from stallkit_sessions.model import Session
from stallkit_supervisor.notification import subject_of
from started import House
from terminals import wait_for

from stallkit.config import queue_file, sandboxes_file, stuck_dir
from stallkit.errors import KeysRefused, StartRefused, TransportError
from stallkit.press.check import check, observe
from stallkit.press.gate import Answer, End, Forced, press
from stallkit.press.send import Sent, send
from stallkit.terminal.keys import Keys
from stallkit.transports.base import Options, Transport
from stallkit.transports.targets import open_target

pytestmark = pytest.mark.e2e

ASKS = "read -p 'Overwrite notes.txt? [y/N] ' it; echo \"got <$it>\"; while :; do sleep 1; done"
ADA = Who("ada", "a test")


@pytest.fixture
def sandboxes(house: House, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandboxes]:
    need_bwrap(monkeypatch)
    with closing(Sandboxes(sandboxes_file())) as found:
        yield found


def asking(sandboxes: Sandboxes, house: House, **more: object) -> tuple[Session, Transport]:
    _, session = start(sandboxes, house, manifest(house.work, command=["bash", "-c", ASKS], **more))
    transport = pane(house, session)
    shows(transport, "[y/N]")
    return session, transport


def test_name_branch_repository_pull_request_and_version_are_recorded(sandboxes: Sandboxes, house: House) -> None:
    git(house.folder, "init", "-q", "--bare", "far.git")
    git(house.work, "init", "-q")
    commit(house.work)
    given = {"branch": "main", "repository": str(house.folder / "far.git"), "pull_request": 17}
    text = manifest(house.work, "# as it was written", **given)
    sandbox, session = start(sandboxes, house, text)
    found = sandboxes.get("web")
    assert (found.version, found.session, found.latest.text) == (1, session.id, text) and found == sandbox
    assert (found.manifest.branch, found.manifest.pull_request) == ("main", 17)
    assert found.git_place == str((house.work / ".git").resolve())
    start(sandboxes, house, text, replace=True)
    assert sandboxes.get("web").version == 1, "the same text is the same version"
    start(sandboxes, house, text + "network = 'host'\n", replace=True, why="it needs the network")
    history = sandboxes.history("web")
    assert [(one.version, one.by, one.why) for one in history] == [
        (1, "ada", "started"),
        (2, "ada", "it needs the network"),
    ]


def test_what_cannot_start_is_not_recorded(sandboxes: Sandboxes, house: House) -> None:
    git(house.work, "init", "-q")
    commit(house.work)
    for text, says in (
        (manifest(house.work, branch="other"), "is on main, not on other"),
        (manifest(house.work, env=["NOT_SET_ANYWHERE"]), "not set here"),
        (manifest(house.folder), "queue, audit"),
    ):
        with pytest.raises(StartRefused, match=says):
            start(sandboxes, house, text)
        assert sandboxes.find("web") is None
    start(sandboxes, house, manifest(house.work))
    with pytest.raises(TransportError, match="runs since"):
        start(sandboxes, house, manifest(house.work, ports=[0]))
    assert (sandboxes.get("web").version, len(sandboxes.history("web"))) == (1, 1)


def test_no_key_goes_in_from_anybody(sandboxes: Sandboxes, house: House) -> None:
    session, transport = asking(sandboxes, house)
    verdict, seen = observe(transport, ENGINE)
    assert verdict.state == "waiting" and seen.sealed
    for request in (Forced(Keys.parse("y Enter")), Answer(Keys.parse("y"))):
        outcome = press(transport, request, seen, ENGINE)
        assert outcome.end is End.REFUSED and "sealed" in outcome.why and not outcome.pressed
    assert send(transport, "hello", ENGINE, force=True).sent is Sent.REFUSED
    assert not (done := check(transport, "daemon", engine=ENGINE)).outcome or not done.outcome.pressed
    with pytest.raises(KeysRefused, match="sealed"):
        transport.send(Keys.parse("y"), transport.capture())
    by_number = open_target(f"tmux:{session.identity.split()[2]}", Options(tmux_socket_path=str(house.socket)))
    assert press(by_number, Forced(Keys.parse("y")), by_number.capture(), ENGINE).end is End.REFUSED
    for words in (("send", "tmux:web", "y", "--force"), ("send", "web", "y", "--force")):
        done = house.call(*words, *(("-S", str(house.socket)) if ":" in words[1] else ()))
        assert done.returncode == 1 and "sealed" in done.stdout, done
    assert house.call("attach", "web", "--answer", "y").returncode != 0
    assert "got" not in transport.capture().screen.text


def test_the_server_itself_holds_it(sandboxes: Sandboxes, house: House) -> None:
    """One that is sealed between the look and the press: tmux compares, in the command that presses."""
    _, transport = asking(sandboxes, house, interactive=True)
    seen = transport.capture()
    assert not seen.sealed
    house.tmux("set-option", "-p", "-t", "=web:", "@stallkit_sealed", "1")
    with pytest.raises(KeysRefused):
        transport.send(Keys.parse("y Enter"), seen)
    assert "got" not in transport.capture().screen.text
    house.tmux("set-option", "-p", "-t", "=web:", "-u", "@stallkit_sealed")
    assert press(transport, Answer(Keys.parse("y Enter")), observe(transport, ENGINE)[1], ENGINE).pressed
    shows(transport, "got <y>")
    plain = house.start("plain", "bash", "-c", ASKS, engine="bwrap")  # no sandbox of a manifest is not sealed
    transport = pane(house, plain)
    shows(transport, "[y/N]")
    assert press(transport, Answer(Keys.parse("y Enter")), observe(transport, ENGINE)[1], ENGINE).pressed
    shows(transport, "got <y>")


REPLIES = [
    (True, "", "use the mirror", "typed into its composer"),
    (True, "half a thought", "use the mirror", "kept for its next stuck: somebody's text may stand"),
    (True, "", "one line\nrm -r build", "kept for its next stuck: it is not known that the agent"),
    (True, "", "!rm -r build", "kept for its next stuck: the agent does not take '!'"),
    (False, "", "use the mirror", "kept for its next stuck: no key goes into its sandbox"),
]


def test_a_reply_that_nobody_waits_for_is_typed_where_keys_go_in(sandboxes: Sandboxes, house: House) -> None:
    heard = stuck_dir() / "web" / "heard"
    with closing(Queue(queue_file())) as queue:
        for number, (interactive, draft, text, why) in enumerate(REPLIES, 1):
            start_agent(sandboxes, house, draft, interactive, replace=number > 1)
            heard.unlink(missing_ok=True)
            item = hooked(queue, number)
            done = answer_item(queue, item.id, text, ADA, lambda: ENGINE, composer_of)
            assert done.result is Result.DONE and done.why.startswith(why), done
            assert queue.item(item.id).text == text
            late = answer_item(queue, item.id, "no", ADA, lambda: ENGINE, composer_of)
            assert late.result is Result.OVER
            typed = heard.read_text() if heard.exists() else ""
            assert typed == (f"{text}\n" if why.startswith("typed") else ""), why


def test_a_persons_answer_to_a_prompt_in_it_is_refused(sandboxes: Sandboxes, house: House) -> None:
    session, transport = asking(sandboxes, house)
    with closing(Queue(queue_file())) as queue:
        verdict, seen = observe(transport, ENGINE)
        topic = subject_of(verdict)
        assert topic is not None
        item = queue.file(draft_of("tmux:web", topic, verdict, seen))
        assert not item.options and "sealed" in item.words

        def reach(item: Item) -> Transport:
            return pane(house, session)

        done = answer_item(queue, item.id, "y", ADA, lambda: ENGINE, reach)
        assert done.result is Result.REFUSED and "sealed" in done.why and queue.item(item.id).open
        notice = queue.notify("web", "a-key-of-its-own", "it is refused: 403")
        assert answer_item(queue, notice.id, "try again", ADA, lambda: ENGINE, reach).result is Result.DONE
    assert "got" not in transport.capture().screen.text


def test_recovery_hints_name_no_way_into_it(sandboxes: Sandboxes, house: House) -> None:
    _, session = start(sandboxes, house, manifest(house.work, command=["sh", "-c", "exit 3"]))
    record = house.end_of("web")
    [(command, _), *_] = hints(record)
    assert command == f"stallkit start --manifest {session.sandbox.manifest} -S {house.socket}"  # type: ignore[union-attr]
    again = house.call(*command.split()[1:])
    assert again.returncode == 0, again.stderr
    assert not any(word in line for line, _ in hints(record) for word in ("exec", "attach"))


def test_nothing_private_can_be_read_inside(sandboxes: Sandboxes, house: House) -> None:
    other = stuck_dir() / "other"
    secret = "MARK-3f9c"
    for path in (
        *(house.state / name for name in ("queue.db", "events.jsonl", "audit/web.log", "stuck/other/notify.sock.txt")),
        *(house.folder / name for name in (".ssh/id_ed25519", ".netrc", ".config/gh/hosts.yml", ".aws/credentials")),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(secret)
        path.chmod(0o644)
    assert other.is_dir()
    (house.work / "mine").write_text("MARK-of-my-own")
    (house.folder / "data").mkdir()
    (house.folder / "data" / "it").write_text("MARK-that-was-mounted")
    script = (
        "places=$(ls -d /* | grep -vxE '/(bin|dev|lib.*|proc|sbin|usr)'); echo $places >/run/stallkit/places;"
        " grep -rsl MARK''- $places >/run/stallkit/found;"
        " find $places -type s >>/run/stallkit/found; find $places -name '*.db' >>/run/stallkit/found;"
        " env >/run/stallkit/env; cat /proc/1/environ /proc/*/environ >>/run/stallkit/env;"
        " echo over >>/run/stallkit/found; sleep 1000"
    )
    os.environ["A_SECRET_OF_THE_OPERATOR"] = secret
    try:
        mounts = ("[[mounts]]", f'source = "{house.folder / "data"}"', 'target = "/srv/data"')
        text = manifest(house.work, *mounts, command=["sh", "-c", script])
        start(sandboxes, house, text)
    finally:
        del os.environ["A_SECRET_OF_THE_OPERATOR"]
    found = stuck_dir() / "web" / "found"
    wait_for(lambda: found.exists() and "over" in found.read_text(), "the search")
    assert set(found.read_text().splitlines()) == {str(house.work / "mine"), "/srv/data/it", "over"}
    assert {"/etc", "/home", "/opt", "/run", "/srv", "/tmp", "/var"} == set(
        (found.parent / "places").read_text().split()
    )
    assert secret not in (found.parent / "env").read_text(), "also not of the process that bubblewrap leaves inside"
    assert stat.S_IMODE((stuck_dir() / "web").stat().st_mode) == 0o700


def test_what_its_manifest_gives_is_there(sandboxes: Sandboxes, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    skill, tool = house.folder / "skills" / "review", house.folder / "tools" / "hello"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("review")
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho hello from a tool\n")
    tool.chmod(0o755)
    (house.folder / "data").mkdir()
    (house.folder / "data" / "it").write_text("some data")
    monkeypatch.setenv("GIVEN", "a value")
    script = (
        "/opt/stallkit-tools/hello; cat /opt/stallkit-skills/review/SKILL.md; cat /data/it; echo $GIVEN $HTTPS_PROXY;"
        " echo $PORT $STALLKIT_CREDENTIAL_PROXY; test -x /run/stallkit/stuck && echo asks;"
        " touch /data/x || touch /opt/stallkit/x || echo read-only; echo mine >/home/agent/.log/x && echo over;"
        " sleep 1000"
    )
    text = manifest(
        house.work,
        *("[[mounts]]", f'source = "{house.folder / "data"}"', 'target = "/data"', "[proxies]"),
        *('egress = "http://127.0.0.1:8888"', 'credential = "http://127.0.0.1:8377"'),
        command=["sh", "-c", script],
        env=["GIVEN"],
        tools=[str(tool)],
        skills=[str(skill)],
        ports=[0],
        transcript="/home/agent/.log",
    )
    _, session = start(sandboxes, house, text)
    shown = shows(pane(house, session), "over")
    for said in ("hello from a tool", "review", "some data", "a value http://127.0.0.1:8888", "asks", "read-only"):
        assert said in shown
    assert f"{session.ports[0]} http://127.0.0.1:8377" in shown
    assert (house.state / "sandboxes" / "web" / "transcript" / "x").read_text() == "mine\n"
    listed = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout
    assert "a value" not in listed, "no list of processes has the value of a variable"


def test_the_command_starts_it_and_shows_its_manifest(sandboxes: Sandboxes, house: House) -> None:
    path = house.folder / "web.toml"
    path.write_text(manifest(house.work, "# a comment"))
    done = house.call("start", "--manifest", str(path), "-S", str(house.socket))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "web: started from version 1 of its manifest; sealed: no key goes in",
        "web: nobody takes its notices yet; stallkit sandbox serve web does, or one with --all in a moment",
    ]
    path.write_text(manifest(house.work, "# another"))
    assert house.call("start", "--manifest", str(path), "-S", str(house.socket), "--replace").returncode == 0
    shown = house.call("sandbox", "manifest", "web").stdout
    assert "# another" in shown and "-# a comment\n  +# another" in shown and "version 2" in shown
    first = printed("sandbox-manifest", house.call("sandbox", "manifest", "web", "--version", "1", "--json"))
    assert first["text"] == manifest(house.work, "# a comment") and len(first["history"]) == 2
    for words, code, says in (
        (("start", "--manifest", str(path), "--", "sh"), 64, "leave out"),
        (("start", "--manifest", str(path), "--docker", "x"), 64, "leave out"),
        (("start", "web2"), 64, "NAME -- COMMAND"),
        (("start", "--manifest", str(house.folder / "none.toml")), 64, "there is no such file"),
        (("sandbox", "manifest", "other"), 64, "none was started"),
        (("sandbox", "manifest", "web", "--version", "9"), 64, "no version 9"),
    ):
        wrong = house.call(*words)
        assert (wrong.returncode, says in wrong.stderr) == (code, True), wrong
        assert len(wrong.stderr.splitlines()) == 1 or code == 64


def test_an_agents_repository_is_not_exchanged(sandboxes: Sandboxes, house: House) -> None:
    for name in ("work", "secret"):
        (house.folder / name).mkdir(exist_ok=True)
        git(house.folder / name, "init", "-q")
        commit(house.folder / name)
    start(sandboxes, house, manifest(house.work))
    (house.work / ".git").rename(house.work / "old")
    (house.work / ".git").write_text(f"gitdir: {house.folder}/secret/.git\n")
    with pytest.raises(StartRefused, match=r"was .*work/\.git when it was registered"):
        start(sandboxes, house, manifest(house.work), replace=True)


def test_one_endpoint_serves_all_also_those_that_start_later(sandboxes: Sandboxes, house: House) -> None:
    for name in ("other", "third"):
        (house.folder / name).mkdir()
    with subprocess.Popen([house.command, "sandbox", "serve", "--all"], stdout=subprocess.PIPE, text=True) as waiting:
        assert waiting.stdout is not None
        assert (
            waiting.stdout.readline() == "no sandbox was started from a manifest yet: each is served once it starts\n"
        )
        waiting.terminate()
    assert waiting.returncode == 0
    start(sandboxes, house, manifest(house.work))
    serving = subprocess.Popen([house.command, "sandbox", "serve", "--all", "api"], stdout=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: all((stuck_dir() / name / "notify.sock").exists() for name in ("web", "api")), "sockets")
        (stuck_dir() / "bad").symlink_to(house.folder)
        sandboxes.enrol(read_manifest(manifest(house.folder / "third", name="bad"), "bad"), "", "ada", "a test")
        start(sandboxes, house, manifest(house.folder / "other", name="db"))
        wait_for((stuck_dir() / "db" / "notify.sock").exists, "the socket of one that started later")
        asked = subprocess.Popen([str(stuck_dir() / "db" / "stuck"), "help"], stdout=subprocess.PIPE, text=True)
        with closing(Queue(queue_file())) as queue:
            wait_for(lambda: [item.session for item in queue.items()] == ["db"], "its notice")
            assert house.call("stuck", "reply", queue.items()[0].ref, "yes").returncode == 0
        assert asked.communicate(timeout=30)[0] == "yes"
    finally:
        serving.terminate()
        told = serving.communicate(timeout=30)[0]
    assert serving.returncode == 0
    assert [row.partition(":")[0] for row in told.splitlines()] == ["api", "web", "db"], told
    assert not (stuck_dir() / "db" / "notify.sock").exists(), "it is taken away at the end"


def test_its_notices_are_told_kept_and_answered(sandboxes: Sandboxes, house: House) -> None:
    told = house.folder / "told"
    tell = house.folder / "tell"
    tell.write_text(f"#!/bin/sh\n(cat; echo) >>{told}\n")
    tell.chmod(0o755)
    serving = subprocess.Popen([house.command, "sandbox", "serve", "web", "--exec", str(tell)])
    try:
        script = (
            "cd /run/stallkit; ./stuck --key of-this-agent --wait 1 'npm is refused'; echo $? >>codes;"
            " until test -e again; do sleep 0.1; done; ./stuck --key of-this-agent </dev/null >answer; echo $? >>codes;"
            " while :; do sleep 1; done"
        )
        place = stuck_dir() / "web"
        wait_for((place / "notify.sock").exists, "the endpoint")
        start(sandboxes, house, manifest(house.work, command=["sh", "-c", script]))
        codes = place / "codes"
        wait_for(lambda: codes.exists() and codes.read_text() == "5\n", "the agent to stop waiting")
        with closing(Queue(queue_file())) as queue:
            wait_for(queue.items, "its notice, which may be read once it stopped waiting")
            [item] = queue.items()
            assert (item.session, item.words) == ("web", "npm is refused")
            done = house.call("stuck", "reply", item.ref, "use", "the", "mirror")
            assert done.returncode == 0, done
        (place / "again").touch()
        wait_for(lambda: codes.read_text() == "5\n0\n", "its answer")
        assert (place / "answer").read_text() == "use the mirror"
        wait_for(lambda: told.exists() and told.read_text().endswith("\n"), "a person to be told")
        events = [json.loads(line) for line in told.read_text().splitlines() if line]
        assert len(events) == 1, "once, though it came again"
        assert "npm is refused" in told.read_text() and "web" in told.read_text()
    finally:
        serving.terminate()
        serving.wait(timeout=20)
