"""Rebuilds of real sandboxes: what the replacement gets, what each failure leads to, and that it goes on."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, Iterator

import pytest
from boxed import need_bwrap
from rebuilt import Site, site_in
from repositories import git
from stallkit_operator.audit import AuditLog
from stallkit_operator.item import ItemState
from stallkit_operator.sandbox.rebuild import Runner, copy_tree
from stallkit_operator.sandbox.rebuild_plan import GO_ON, Outcome, Step, StepState, edited, propose, to_edit
from stallkit_sessions.model import Cause
from started import House
from terminal_fixtures import PROGRAMS, ROOT
from terminals import wait_for

from stallkit.config import stuck_dir
from stallkit.errors import ConfigError, StallkitError

pytestmark = pytest.mark.e2e


@pytest.fixture
def site(house: House, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    need_bwrap(monkeypatch)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    with closing(site_in(house)) as made:
        yield made


def test_the_replacement_goes_on_with_the_work(site: Site, house: House) -> None:
    told = house.folder / "told"
    forge = house.folder / "forge"
    forge.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{told}\n')
    forge.chmod(0o755)
    more = {"pull_request": 17, "comment": [str(forge), "{pull_request}", "{text}"], "transcript": "/home/agent/.log"}
    script = "echo thoughts >/home/agent/.log/x; ln -s /etc/passwd /home/agent/.log/evil; while :; do sleep 1; done"
    old = site.start(site.text(command=["sh", "-c", script], **more))
    log = house.state / "sandboxes" / "web" / "transcript" / "evil"
    wait_for(log.is_symlink, "the transcript")
    written = site.scribble()
    item = site.ask("npm is refused: 403")
    look = "cat /opt/stallkit/hand-off.md /opt/stallkit/transcript/x; ls d*; touch /opt/stallkit/x"
    text = site.text(command=["sh", "-c", f"({look}) >/run/stallkit/seen 2>&1; while :; do sleep 1; done"], **more)
    id = site.approve(text, item)
    steps: list[str] = []
    done = Runner(site.sandboxes, site.queue, lambda *step: steps.append(" ".join(step).strip())).rebuild("web")
    assert done.outcome is Outcome.REPLACED, (done, steps)
    new = site.running()
    assert new is not None and new.id != old.id and new.sandbox is not None and new.sandbox.version == 2
    assert not site.lost(written) and not site.unpushed(written, f"refs/stallkit/web/{id}")
    record = house.register.get(old.id)
    assert getattr(record, "cause", None) is Cause.STOPPED, "its exit record was written"
    seen = stuck_dir() / "web" / "seen"
    wait_for(lambda: seen.exists() and "Read-only" in seen.read_text(), "what the replacement sees")
    for said in ("it may use the mirror now", "npm is refused: 403", "thoughts", next(iter(written)).split("/")[1]):
        assert said in seen.read_text(), seen.read_text()
    assert not os.path.lexists(house.state / "sandboxes" / "web" / "given" / "transcript" / "evil")
    answer = site.queue.item(item.id)
    assert (answer.state, answer.by, answer.text) == (ItemState.ANSWERED, "ada", "rebuilt: it may use the mirror now")
    assert told.read_text().splitlines()[0] == "17" and "it may use the mirror now" in told.read_text()
    assert [one.why for one in site.sandboxes.history("web")] == ["started", "it may use the mirror now"]
    with pytest.raises(StallkitError, match="none is under way"):
        Runner(site.sandboxes, site.queue).rebuild("web")


@pytest.mark.parametrize("how", ["push", "remote", "work tree", "repository"])
def test_work_that_cannot_be_kept_stops_it_before_the_teardown(site: Site, how: str) -> None:
    old = site.start()
    written = site.scribble()
    item = site.ask()
    site.approve(site.text("ports = [0]"), item)
    if how == "push":
        site.refuse_pushes(True)
    elif how == "remote":
        site.far.rename(site.folder / "moved.git")
    elif how == "work tree":
        (site.work / ".git" / "HEAD").write_text("nonsense\n")
    else:
        (site.work / ".git").rename(site.folder / "old")
        (site.work / ".git").write_text(f"gitdir: {site.folder}/old\n")
    done = Runner(site.sandboxes, site.queue).rebuild("web")
    assert done.outcome is Outcome.AS_IT_WAS and done.why, done
    running = site.running()
    assert running is not None and running.id == old.id, "it was never torn down"
    assert not site.lost(written) and site.queue.item(item.id).open
    assert site.sandboxes.get("web").version == 1


def test_a_replacement_that_cannot_start_leads_back(site: Site) -> None:
    old = site.start()
    written = site.scribble()
    item = site.ask()
    site.approve(site.text("skills = ['/nowhere/at/all']"), item)
    done = Runner(site.sandboxes, site.queue).rebuild("web")
    assert done.outcome is Outcome.AS_IT_WAS and "/nowhere/at/all" in done.why
    running = site.running()
    assert running is not None and running.id != old.id and running.command == old.command
    told = (site.given / "hand-off.md").read_text()
    assert "started again as it was" in told and "/nowhere/at/all" in told and "was to change" in told
    assert site.sandboxes.get("web").version == 1 and not site.lost(written) and site.queue.item(item.id).open


def test_what_a_replacement_runs_is_in_its_manifest(site: Site) -> None:
    """Else, if it is sealed and no known agent, the person is told that nobody set it going."""
    site.start()
    wanted = [("", "sealed"), ('resume = ["sh", "-c", "echo $0; sleep 9999", "{text}"]', ""), ("resume = []", "")]
    for number, (line, says) in enumerate(wanted):
        site.approve(site.text(f"ports = [{20_000 + number}]", line))
        failed: list[str] = []

        def told(step: Step, state: StepState, why: str, failed: list[str] = failed) -> None:
            if state is StepState.FAILED:
                failed.append(f"{step}: {why}")

        assert Runner(site.sandboxes, site.queue, told).rebuild("web").outcome is Outcome.REPLACED
        running = site.running()
        assert running is not None and (GO_ON in running.command) is line.endswith('"{text}"]')
        assert [one for one in failed if says and says in one] == failed, failed
        assert bool(failed) is bool(says)


def test_a_work_tree_that_went_with_the_sandbox_comes_back(site: Site) -> None:
    site.start()
    written = site.scribble()
    head = git(site.work, "rev-parse", "HEAD")
    site.approve(site.text("ports = [0]"))

    def lose(step: Step, state: StepState, why: str) -> None:
        if (step, state) == (Step.LATEST, StepState.BEGUN):
            subprocess.run(["rm", "-r", str(site.work)], check=True)

    done = Runner(site.sandboxes, site.queue, lose).rebuild("web")
    assert done.outcome is Outcome.REPLACED, done
    assert not site.lost(written) and git(site.work, "rev-parse", "main") == head


def test_what_is_written_between_the_snapshot_and_the_end_is_kept(site: Site) -> None:
    site.start()
    id = site.approve(site.text("ports = [0]"))
    written: dict[str, bytes] = {}

    def late(step: Step, state: StepState, why: str) -> None:
        if (step, state) == (Step.TEARDOWN, StepState.BEGUN):
            written.update(site.scribble())

    assert Runner(site.sandboxes, site.queue, late).rebuild("web").outcome is Outcome.REPLACED
    assert written and not site.lost(written) and not site.unpushed(written, f"refs/stallkit/web/{id}-latest")


def test_what_the_replacement_asks_is_not_answered_by_the_rebuild(site: Site) -> None:
    site.start()
    item = site.ask("one thing")
    site.approve(site.text("ports = [0]"), item)
    told: list[str] = []

    def asks(step: Step, state: StepState, why: str) -> None:
        told.append(f"{step} {state} {why}")
        if (step, state) == (Step.COMMENT, StepState.BEGUN):
            assert site.ask("another thing").id == item.id, "it is appended while the first one waits"

    assert Runner(site.sandboxes, site.queue, asks).rebuild("web").outcome is Outcome.REPLACED
    assert site.queue.item(item.id).open and any("still open" in line for line in told)


KILLED = """
import os, signal, sys
from contextlib import closing
from stallkit.config import queue_file, sandboxes_file
from stallkit_operator.queue import Queue
from stallkit_operator.sandbox.rebuild import Runner
from stallkit_operator.sandbox.sandboxes import Sandboxes
def told(step, state, why):
    if [str(step), str(state)] == sys.argv[1:]:
        os.kill(os.getpid(), signal.SIGKILL)
with closing(Sandboxes(sandboxes_file())) as sandboxes, closing(Queue(queue_file())) as queue:
    print(Runner(sandboxes, queue, told).rebuild("web"))
"""


@pytest.mark.parametrize("step", [step for step in Step if step is not Step.FALL_BACK])
def test_one_that_is_killed_goes_on(site: Site, step: Step) -> None:
    old = site.start()
    written = site.scribble()
    item = site.ask()
    site.approve(site.text("ports = [0]", "resume = []"), item)
    for state in (StepState.BEGUN, StepState.DONE):
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(step), str(state)], capture_output=True, text=True, check=False
        )
        expected = step is Step.COMMENT and state is StepState.DONE  # it is not done again
        assert (done.returncode == -9) is not expected, done
    if site.rows.unfinished("web") is not None:
        assert Runner(site.sandboxes, site.queue).rebuild("web").outcome is Outcome.REPLACED
    running = site.running()
    assert running is not None and running.id != old.id and running.ports
    assert not site.lost(written) and site.queue.item(item.id).state is ItemState.ANSWERED
    assert [one.version for one in site.sandboxes.history("web")] == [1, 2]
    assert len(house_panes(site)) == 1, "one replacement, not two"


def house_panes(site: Site) -> list[str]:
    listed = subprocess.run(
        ["tmux", "-S", str(site.socket), "list-panes", "-a", "-F", "#{session_name}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return listed.stdout.split()


def test_a_proposal_goes_on_with_the_same_work(site: Site) -> None:
    site.start()
    sandbox = site.sandboxes.get("web")
    for text, says in (
        (site.text(branch="other"), "keeps its branch"),
        (site.text(repository="/elsewhere.git"), "keeps its repository"),
        (site.text(name="other"), "keeps its name"),
        (site.text("nonsense = 1"), "unknown key"),
    ):
        with pytest.raises(ConfigError, match=says):
            propose(sandbox, text)
    assert propose(sandbox, site.text("ports = [0]")).diff == [
        "@@ -4,3 +4,4 @@",
        *(f" {line}" for line in site.text().splitlines()[3:]),
        "+ports = [0]",
    ]


def test_the_agents_words_are_shown_and_never_applied(site: Site) -> None:
    site.start()
    item = site.ask('name = "evil"\n#> \x1b[2J\n+network = "host"')
    given = to_edit(site.sandboxes.get("web"), item)
    assert 'name = "evil"' in given and "\x1b" not in given
    assert edited(given) == site.sandboxes.get("web").latest.text


def test_the_command(site: Site, house: House) -> None:
    site.start()
    written = site.scribble()
    item = site.ask("npm is refused: 403")
    editor = house.folder / "editor"
    editor.write_text(f'#!/bin/sh\ncp "$1" {house.folder}/edited; echo "ports = [0]" >>"$1"\n')
    editor.chmod(0o755)
    given = {"EDITOR": str(editor), "VISUAL": str(editor)}
    asked = house.call("sandbox", "rebuild", str(item.id), **given)
    assert (asked.returncode, asked.stdout.splitlines()[-1]) == (
        2,
        f"nothing was done; to say why not: stallkit sandbox rebuild {item.id} --decline WHY",
    ), asked
    assert "+ports = [0]" in asked.stdout and "npm is refused: 403" in (house.folder / "edited").read_text()
    done = house.call("sandbox", "rebuild", str(item.id), "--yes", "--why", "use the mirror", **given)
    assert done.returncode == 0 and "web: rebuilt, version 2 of its manifest runs" in done.stdout, done
    assert not site.lost(written) and site.queue.item(item.id).text == "rebuilt: use the mirror"
    over = house.call("sandbox", "rebuild", str(item.id), "--yes", **given)
    assert over.returncode == 4 and "answered already" in over.stdout
    second = site.ask("and the host's network")
    unseen = house.call("sandbox", "rebuild", str(second.id), "--decline", "no")
    assert unseen.returncode == 2 and "not shown to you here" in unseen.stdout and site.queue.item(second.id).open
    no = house.call("sandbox", "rebuild", str(second.id), "--decline", "not on this branch")
    assert no.returncode == 0, no
    assert (site.queue.item(second.id).state, site.queue.item(second.id).text) == ("declined", "not on this branch")
    site.refuse_pushes(True)
    failed = house.call("sandbox", "rebuild", "web", "--yes", EDITOR="true", VISUAL="true")
    assert failed.returncode == 1 and "as it was (push: " in failed.stderr and "not now" in failed.stderr, failed
    log = AuditLog(house.state / "audit" / "manifests.log")
    events = [json.loads(line) for line in log.path.read_text().splitlines()]
    assert [one["event"] for one in events] == [
        *("manifest_approved", "rebuild_done", "manifest_rejected", "manifest_approved", "rebuild_failed")
    ]
    assert "+ports = [0]" in events[0]["diff"] and events[2]["why"] == "not on this branch"
    assert (events[1]["sandbox"], events[1]["manifest"], events[1]["item"]) == ("web", 2, item.id)
    assert events[4]["manifest"] == 2 and events[4]["why"].startswith("push: ")
    for words, code in ((("none",), 64), (("99",), 1), ((str(house.folder),), 64)):
        wrong = house.call("sandbox", "rebuild", *words)
        assert wrong.returncode == code and len(wrong.stderr.splitlines()) == 1, wrong


def test_a_transcript_is_copied_without_following_links(tmp_path: Path) -> None:
    source = tmp_path / "a"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "x").write_text("x")
    (source / "out").symlink_to("/etc")
    (source / "sub" / "passwd").symlink_to("/etc/passwd")
    os.mkfifo(source / "pipe")
    copy_tree(source, tmp_path / "b")
    assert sorted(path.name for path in (tmp_path / "b").rglob("*")) == ["sub", "x"]
    with pytest.raises(OSError, match="more than 0 bytes"):
        copy_tree(source, tmp_path / "c", 0)


CLAUDE = "/opt/stallkit-tools/claude"
TOLD = "Fix the tests of the parser"


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    if not (PROGRAMS / "claude").exists():
        pytest.skip("scripts/test has not fetched it")
    monkeypatch.syspath_prepend(str(ROOT / "corpora" / "agents"))
    made = importlib.import_module("anthropic").Server([{"text": "I look at it."}]).start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def trusted(site: Site, house: House, monkeypatch: pytest.MonkeyPatch, model: Any) -> Site:
    """A site whose Claude Code asks nothing at its start, and speaks to the model."""
    stage = importlib.import_module("claude_stage")
    for name, value in {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": stage.KEY,
        "CLAUDE_CONFIG_DIR": "/home/agent/.claude",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }.items():
        monkeypatch.setenv(name, value)
    kept = house.state / "sandboxes" / "web" / "transcript"
    kept.mkdir(parents=True, mode=0o700)
    known = {"hasCompletedOnboarding": True, "theme": "dark", "numStartups": 20}
    known |= {"customApiKeyResponses": {"approved": [stage.KEY[-20:]], "rejected": []}}
    (kept / ".claude.json").write_text(json.dumps({**known, "projects": {str(site.work): stage.TRUSTED}}))
    settings = {"permissions": {"defaultMode": "default", "disableAutoMode": "disable"}}
    (kept / "settings.json").write_text(json.dumps(settings))
    return site


def heard(model: Any, text: str) -> list[str]:
    """The requests of its turns that hold a text."""
    turns = [json.dumps(body) for _, body in model.requests if body and len(body.get("tools") or []) >= 3]
    return [one for one in turns if text in one]


@pytest.mark.parametrize(
    ("command", "interactive"), [([CLAUDE, TOLD], False), (["sh", "-c", f"{CLAUDE} '{TOLD}'; exit"], True)]
)
def test_claude_code_goes_on_by_itself(trusted: Site, model: Any, command: list[str], interactive: bool) -> None:
    """Real Claude Code, with a scripted model."""
    site = trusted
    more = {
        "env": ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "CLAUDE_CONFIG_DIR", "DISABLE_AUTOUPDATER"],
        "tools": [str(PROGRAMS / "claude")],
        "network": "host",
        "transcript": "/home/agent/.claude",
        "interactive": interactive,
    }
    site.start(site.text(command=command, **more))
    wait_for(lambda: heard(model, TOLD), "its first turn")
    site.approve(site.text("ports = [0]", command=command if not interactive else ["sh", "-c", CLAUDE], **more))
    steps: list[str] = []
    done = Runner(site.sandboxes, site.queue, lambda *step: steps.append(" ".join(step).strip())).rebuild("web")
    assert done.outcome is Outcome.REPLACED and "set going done" in steps, (done, steps)
    wait_for(lambda: heard(model, GO_ON), f"it to go on, {site.running()}")
    if not interactive:
        assert all(TOLD in one for one in heard(model, GO_ON)), "with what was said before"
