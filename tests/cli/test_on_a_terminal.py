"""Every command that draws, started on terminals as people have them, and what is to be seen there."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Callable, Iterator

import click
import pytest
from recordings import session
from started import House
from terminals import HEARD, SIZES, OnTerminal, Server, wait_for

from stallkit.cli.main import cli

pytestmark = pytest.mark.e2e

CORPUS = Path(__file__).parent.parent / "corpus"
# In the source of a command.
DRAWS = r"\brich\b|\b[Pp]rogress\b|\bshow_end\b|\bleave\(|LiveTable|show_tables|page_table|(?:plain|wide)_console"
HARM = ("bash", "-c", "read -p 'Delete all? [y/N] '")
ASKS = ("bash", "-c", "read -n1 -s -r -p 'Press any key to continue...'; printf '\\nwent on\\n'; exec sleep 1000")
BUILD = ("bash", "-c", "while :; do echo compiling $RANDOM; sleep 0.1; done")
LONG = "review-of-the-parser-branch-with-a-long-name"
BAD_PACK = """\
format = 1

[[signature]]
id = "deploy"
title = "acme asks before it deploys"
state = "waiting"
kind = "confirm"
all_of = [{ pattern = '^Deploy\\\\? $', where = "prompt_line" }]
hits = ["Deploy? "]
misses = ["Deploy? yes"]
dismissal = { keys = "Entre" }
"""

Draw = Callable[..., OnTerminal]


@pytest.fixture(params=SIZES, ids=lambda size: "x".join(map(str, size)))
def size(request: pytest.FixtureRequest) -> tuple[int, int]:
    found: tuple[int, int] = request.param
    return found


@pytest.fixture
def draw(house: House, size: tuple[int, int]) -> Iterator[Draw]:
    """`stallkit` on a terminal of that size, in the house."""
    folder = house.folder / "s"
    folder.mkdir()
    terminals = Server(folder)
    yield lambda *words: OnTerminal(terminals, size, house.command, *words, **house.environment)
    terminals.end()


def row(*cells: str) -> str:
    """A pattern of a row of a table that begins with these cells, whole."""
    return "^ ?" + " +".join(map(re.escape, cells)) + "( |$)"


def whole(shown: OnTerminal, text: str) -> None:
    """Nothing was cut, by us or by the terminal."""
    assert "…" not in text and shown.wrapped == [], text


# --- the supervisor ---


def test_watch(draw: Draw, house: House, server: Server, size: tuple[int, int]) -> None:
    server.start("harm", *HARM, shows="Delete").close()
    server.start(LONG, *HARM, shows="Delete").close()
    server.start("asks", *ASKS, shows="Press").close()
    server.start("build", *BUILD, shows="compiling").close()
    rule = 'do = "press"\nsignature = "shell_tools:press_any_key"\nsession = "tmux:asks"\n'
    (house.folder / "mine.toml").write_text(f"[[rule]]\n{rule}")
    policy = ("--policy", str(house.folder / "mine.toml"))
    watch = draw("watch", "--all", "--interval", "5", "-S", str(server.socket), *policy)
    watch.shows(
        r"^   session +state +for +in front( +signature)? +pressed",
        r"^. +tmux:harm +waiting: confirm +\d+ s +bash( +shell_yn:yes_no)?",
        r"^. +tmux:review-of-t\S* +waiting: confirm",
        r"^. +tmux:build +working",
        r"^[\d:]{8} tmux:harm escalation: any program may show this prompt",
        r"^[\d:]{8} tmux:asks dismissal: the prompt went away, keys Space",
    )
    server.tmux("new-session", "-d", "-s", "later", *HARM)  # the table goes on
    screen = watch.shows(r"^. +tmux:later +waiting: confirm")
    assert watch.wrapped == []
    order = [line.split()[1] for line in screen.splitlines() if line[3:].startswith("tmux:")]
    assert order.index("tmux:build") > order.index("tmux:later"), "who waits stands first"
    watch.press("C-c")
    left = watch.over()
    assert re.search(r"^[\d:]{8} stallkit stop$", left, re.M)
    for line in ("   session +state", *(f". +tmux:{name} +w" for name in ("harm", "build", "asks", "later"))):
        assert len(re.findall(f"^{line}", left, re.M)) == 1, f"one table is left\n{left}"

    status = draw("status")
    text = status.over()
    assert re.match(r"no watcher runs: this is how it was at [\d:]{8}, \d+ s ago; stallkit watch --all$", text, re.M)
    asks = r"^● tmux:harm +waiting: confirm +at [\d:]{8}, \d+ s ago, bash(, shell_yn:yes_no)?$"
    assert re.search(asks, text, re.M), text
    assert re.search(row("►", "tmux:build"), text, re.M) and re.search(row("●", f"tmux:{LONG}"), text, re.M), text
    whole(status, text)

    report = draw("report")
    text = report.over(2)
    told = " ".join(text.split())
    assert "harm still confirm" in told and "1 answered by stallkit" in told, text
    assert report.wrapped == []

    incidents = draw("report", "--incidents")
    text = incidents.over()
    assert re.search(
        r"^\d{4}-\d\d-\d\d [\d:]{8}  \d+ s ago  tmux:asks  dismissal\n    the prompt went away", text, re.M
    )
    assert "no watcher runs now" in text
    assert "any program may show this prompt" in " ".join(text.split())
    whole(incidents, text)


def test_watch_with_more_sessions_than_there_is_room_for(draw: Draw, server: Server, size: tuple[int, int]) -> None:
    for number in range(30):
        server.tmux("new-session", "-d", "-s", f"idle-{number:02}", "sleep", "1000")
    server.start("harm", *HARM, shows="Delete").close()
    watch = draw("watch", "--all", "-S", str(server.socket))
    watch.shows(r"^   session +state ", r"^● +tmux:harm +waiting", r"^and \d+ more$", r"stallkit start$")

    def told() -> int:
        screen = watch.screen
        more = re.findall(r"^and (\d+) more$", screen, re.M)
        return len(re.findall(r"^. +tmux:", screen, re.M)) + sum(map(int, more))

    wait_for(lambda: told() == 31, "all sessions: the first look takes its time, and they come one by one")
    watch.press("C-c")
    watch.over()


def test_supervise(draw: Draw, house: House, server: Server) -> None:
    server.start("harm", *HARM, shows="Delete").close()
    settings = house.folder / "stallkit.toml"
    settings.write_text("[watch]\nall = true\ninterval_s = 0.5\n")
    supervise = draw("watch", "--service", "--config", str(settings), "-S", str(server.socket))
    supervise.shows('"event": "escalation"')  # on a terminal, too, its events are for programs
    supervise.press("C-c")
    supervise.over()
    events = [json.loads(line.removeprefix("^C"))["event"] for line in supervise.lines if "{" in line]
    assert events[0] == "start" and "escalation" in events and events[-1] == "stop", supervise.text


# --- sessions that stallkit starts ---


def test_how_a_session_ended(draw: Draw, house: House) -> None:
    house.begin("keeper", "sh", "-c", "seq 30; exec cat")
    house.begin("worker", "sh", "-c", f"echo the last words; {HEARD}; exit 3")
    house.end_of("worker")

    text = draw("list").over()
    assert re.search(r"^ +session +is +for +in +ports +command", text, re.M), text
    assert re.search(row("►", "keeper", "running"), text, re.M), text
    assert re.search(row("■", "worker", "exited,", "code", "3"), text, re.M), text
    assert "worker: its program exited with 3 (stallkit output --postmortem worker)" in text
    assert re.search("^  stallkit start worker -S", text, re.M)

    for words in (["output"], ["output", "--postmortem"], ["wait"], ["check"], ["explain"]):
        text = draw(*words, "worker").over(0 if "--postmortem" in words else 4)
        assert "worker: exited ─" in text and "│ the last words" in text, text
        assert re.search(r"^│ exit +code 3 \(says pane_dead_status\)", text, re.M) and "# start it again" in text, text
    assert "worker: exited ─" in draw("send", "worker", "hello").over(4)
    assert draw("output", "keeper").over().splitlines()[-1] == "30"
    assert draw("stop", "worker").over() == "worker: exited, code 3 (says pane_dead_status)"


def test_runs_in_the_background(draw: Draw, house: House) -> None:
    go = house.folder / "go"
    script = f"echo step one; while [ ! -e {go} ]; do sleep 0.1; done; echo step two"
    run = draw("run", "--window", "1000", "--", "sh", "-c", script)
    run.shows(r"sh \d+ s +step one$")
    run.press("C-z")
    text = run.over(5)
    assert "it continues in the background" in text and "stallkit attach" in text
    table = draw("attach")
    text = table.over()
    assert re.search(row("run", "status", "started", "command"), text, re.M), text
    assert re.search(r"^r\w+ +\w+ +[\d-]{10}T[\d:]{8} +sh -c", text, re.M), text
    whole(table, text)
    attach = draw("attach", "last", "--wait", "--window", "1000")
    attach.shows(r"r\w+ \d+ s +step one$")
    go.touch()
    text = attach.over()
    assert text.split("\n")[:2] == ["step one", "step two"], text
    assert not re.search(r" \d+ s +step one", text), "what said that it goes on is gone"


# --- a look at a session ---


def test_what_a_session_shows(draw: Draw, server: Server, house: House) -> None:
    server.start("harm", *HARM, shows="Delete").close()
    at = ("tmux:harm", "-S", str(server.socket))
    assert "tmux:harm: stalled (waiting, asks for confirm, sure)" in draw("check", *at).over(2)
    assert "tmux:harm: blocked, it asks for confirm" in draw("wait", *at).over(2)
    assert "tmux:harm: policy careful would escalate: any program may" in draw("policy", "explain", *at).over()
    text = draw("explain", *at).over()
    assert text.startswith("match: shell_yn:yes_no (prompt_line, "), text
    assert text.index("verdict: waiting, sure") < text.index("fact: ") < text.index("near misses: ")
    assert re.search(r"^ +\d+ prompt_line shell_yn:default_value: shadowed$", text, re.M)
    text = draw("pack", "capture", *at, "-o", "-").over()
    assert re.search('^foreground = "bash"$', text, re.M) and text.endswith("Delete all? [y/N]")


# --- packs ---


def test_packs(draw: Draw) -> None:
    packs = draw("pack", "list", "--signatures")
    text = packs.over()
    assert re.search(row("pack", "version", "distribution", "prio", "count", "programs"), text, re.M)
    assert re.search(row("shell_yn", "0.1.0", "stallkit-shell-yn", "50"), text, re.M)
    numbers = [int(line.split()[0]) for line in text.splitlines() if re.match(r" +\d+ +\w+:", line)]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) > 100
    assert re.search(r"^ +\d+ shell_yn:yes_no +confirm +medium", text, re.M)
    assert "continue Enter" in " ".join(re.sub(r"^ .*?(continue)\s+(Enter)", r"\1 \2", text, flags=re.M).split())
    whole(packs, text)


def test_matrix(draw: Draw) -> None:
    matrix = draw("pack", "matrix", "claude-code", "7z", "@inquirer/prompts")
    text = matrix.over()
    assert re.search(r"^claude-code \S+$", text, re.M), text
    assert re.search(r"^  plan_approval +high +2\d{3}-\d\d(-\d\d)?$", text, re.M), text
    assert re.search(r"^@inquirer/prompts \S+\n  confirm +medium +y Enter +2", text, re.M), text
    assert "\\n" not in text
    whole(matrix, text)


def test_lint(draw: Draw, house: House) -> None:
    pack = house.folder / "stallkit_acme" / "signatures.toml"
    pack.parent.mkdir()
    pack.write_text(BAD_PACK)
    lint = draw("pack", "lint", str(pack), "--fast")
    text = lint.over(7).replace("\n", "")
    assert "SK303 error: deploy: unknown key 'Entre'" in text and re.search(r"acme: \d errors?, \d warnings?$", text)


def test_a_new_pack_and_a_signature_for_it(draw: Draw, house: House) -> None:
    folder = house.folder / "acme"
    assert "next: pip install -e" in draw("pack", "new", "acme", str(folder)).over().replace("\n", "")
    screen = house.folder / "one.txt"
    screen.write_text("---\ncursor = [28, 0]\n---\nDeploy to staging? [yes/no]: \n")
    words = ("--pack", str(folder), "--id", "deploy", "--state", "waiting", "--kind", "confirm")
    text = draw("pack", "add", str(screen), *words).over()
    assert re.search('^id = "deploy"$', text, re.M) and text.endswith("it meets its examples"), text
    assert "comparing screens" not in text


def test_tune(draw: Draw) -> None:
    tune = draw("pack", "tune", "shell_yn:yes_no", "--corpus", str(CORPUS / "cli.jsonl"))
    tune.shows(r"tune shell_yn:yes_no \d+ s")
    text = tune.over()
    header = row("clause", "change", "precision", "recall", "keys", "cases", "examples")
    assert re.search(header, text, re.M), text
    assert re.search(r"^ all_of\[1\] +anywhere +[\d.]+ +[\d.]+ +\+\d+ +\d+ +\d+", text, re.M), text


def test_eval(draw: Draw) -> None:
    evaluation = draw("eval", "--by", "program", *[str(CORPUS / "agents.jsonl")] * 12)
    evaluation.shows(r"judging .* \d+% .* \d+/\d+")
    text = evaluation.over()
    assert "judging" not in text
    assert re.search(r"^ \d+ cases +95 % interval +counted$", text, re.M), text
    assert re.search(r"^ waiting: precision +[\d.]{6} +[\d.]{5} to [\d.]{5} +\d+ of \d+$", text, re.M), text
    assert re.search(r"^ true state +said waiting +said idle +said working", text, re.M), text
    assert re.search(r"^ program +cases +precision +recall +f1 .*right +wrong keys$", text, re.M), text
    assert re.search(r"^ claude-code +\d+ +[\d.]{5} +[\d.]{5} +[\d.]{5} +[\d.]{5} +[\d.]{5}", text, re.M), text
    whole(evaluation, text)


# --- recordings ---


def test_record_and_replay(draw: Draw, house: House) -> None:
    made = house.folder / "made.cast"
    record = draw("record", "-o", str(made), "--", "sh", "-c", "echo building; read line; echo went on; exit 0")
    record.shows("^stallkit: recording to ", "C-] and w, k, i, q or e marks waiting, working", "^building")
    record.press("C-]", "k")
    record.press("Enter")
    assert re.search(r"^stallkit: recorded [\d.]+ s, 1 marker: ", record.over(), re.M)
    replay = draw("record", "replay", str(made))
    assert re.search(row("at", "verdict", "certainty", "kind", "signature", "truth"), replay.over(), re.M)

    played = draw("record", "replay", str(session(house.folder / "a.cast")), "--speed", "1.5")
    played.shows(r"^ +[\d.]+ s  working", "^Building two")
    played.shows(r"^ +[\d.]+ s  waiting:confirm, sure", r"^Proceed\? \[y/N\]")
    text = played.over()
    assert re.search(r"^[\d.]+ +waiting +sure +confirm +shell_yn:yes_no +waiting:confirm +right$", text, re.M), text
    assert re.search(r"^truth +\.?k+w+k+", text, re.M) and re.search(r"^verdict +\.?k+w+k+", text, re.M), text
    assert "right: " in text and "Building two" not in text
    whole(played, text)


# --- notices ---


def test_notify(draw: Draw) -> None:
    """What the terminal itself is sent is not to be seen."""
    notices = draw("config", "notify", "--notify", "terminal", "--exec", "true", "--exec", "false")
    text = notices.over(1)
    told = [re.sub(" +", " ", line.strip()) for line in text.splitlines()]
    assert told == ["command false not told exit status 1", "terminal told a bell was written"]
    whole(notices, text)


# --- the demonstration ---


def test_demo(draw: Draw) -> None:
    demo = draw("demo")
    demo.shows("checking real programs")
    text = demo.over()
    assert text.splitlines()[-1] == "12 of 12 right, 1 dismissed, 0 processes left behind"
    assert "checking real programs" not in text and len(re.findall("^right  ", text, re.M)) == 12
    pressed = r"^right  the same, by a rule, waiting\n {7}waiting press_key, sure, by shell_tools:press_any_key\n"
    assert re.search(rf"{pressed} {{7}}.*\n {{7}}Space: cleared$", text, re.M), text
    assert max(map(len, text.splitlines())) <= 80
    whole(demo, text)


# --- all of them ---


def source(command: click.Command) -> str:
    """The source of a command, and of every function of its own module that it calls, over others or not."""
    begin = inspect.unwrap(command.callback)  # type: ignore[arg-type]  # each has one
    module = inspect.getmodule(begin)
    found: dict[str, str] = {}
    ahead = [begin]
    while ahead:
        one = ahead.pop()
        if one.__name__ not in found:
            found[one.__name__] = inspect.getsource(one)
            called = (getattr(module, name, None) for name in re.findall(r"\w+", found[one.__name__]))
            ahead += [other for other in called if inspect.isfunction(other) and other.__module__ == one.__module__]
    return "\n".join(found.values())


def test_every_command_that_draws_is_here() -> None:
    here = Path(__file__).read_text()
    context = click.Context(cli)
    commands = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    drawing = {name for name, command in commands.items() if command and re.search(DRAWS, source(command))}
    assert {"watch", "demo", "eval"} <= drawing
    assert {name for name in drawing if f'"{name}"' not in here} == set()
