"""What each command prints with ``--json`` is by its published schema, and the schema names all that is printed."""

from __future__ import annotations

import json
import os
import re
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Iterator

import click
import jsonschema_rs
import pytest
from labelled import BUSY, READS, row, write
from printed import closed, printed
from stallkit_operator.queue import Queue
from started import House
from terminals import wait_for

from stallkit.cli.main import cli
from stallkit.cli.printed_json import all_printed, json_schema, schema_of_shape

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
ASKS = ("bash", "-c", "read -p 'Proceed? [y/N] ' x; exec cat")

# What is typed, by the schema's name; ASK is a tmux session that asks, PID its process.
TYPED = [
    ("check", "check tmux:ASK"),
    ("explain", "explain tmux:ASK"),
    ("explain", "explain tmux:ASK --layout"),
    ("status", "status"),
    ("report", "report --incidents"),
    ("report", "report"),
    ("list", "list"),
    ("start", "start other -- cat"),
    ("output", "output up"),
    ("output", "output up --check-stall"),
    ("output", "output down"),
    ("output", "output --postmortem down"),
    ("output", "output --postmortem down --all"),
    ("send", "send tmux:ASK hello"),
    ("send", "send down hello"),
    ("explain", "explain down"),
    ("pack-capture", "pack capture down -o down.txt"),
    ("policy-explain", "policy explain down"),
    ("output", "check down"),
    ("wait", "wait down"),
    ("wait", "wait tmux:ASK --timeout 0.1"),
    ("stop", "stop other down"),
    ("run", "run -- true"),
    ("run", "run --window 2 -- sh -c 'read -p \"Go on? [y/N] \" x'"),
    ("attach", "attach"),
    ("attach", "attach last --stop"),
    ("stuck-list", "stuck list"),
    ("stuck-show", "stuck show 1"),
    ("stuck-approve", "stuck approve 1"),
    ("stuck-reply", "stuck reply 1 n"),
    ("stuck-decline", "stuck decline 1"),
    ("stuck-triage", "stuck triage 2 egress"),
    ("sandbox-waive", "sandbox waive rule:aws:keys.py --why 'a test key'"),
    ("sandbox-waived", "sandbox waived rule:aws:keys.py"),
    ("sandbox-waived", "sandbox waived rule:gcp:keys.py"),
    ("sandbox-waivers", "sandbox waivers"),
    ("sandbox-audit-show", "sandbox audit show"),
    ("sandbox-audit-verify", "sandbox audit verify"),
    ("policy-explain", "policy explain tmux:ASK"),
    ("policy-explain", "policy explain --log state/events.jsonl"),
    ("explain", "explain --pid PID"),
    ("config-show", "config show"),
    ("config-notify", "config notify --exec cat"),
    ("pack-list", "pack list"),
    ("pack-matrix", "pack matrix apt"),
    ("pack-show", "pack show shell_yn:yes_no"),
    ("pack-capture", "pack capture tmux:ASK -o screen.txt"),
    ("pack-try", "pack try ^Proceed screen.txt --where prompt_line"),
    ("pack-new", "pack new acme"),
    ("pack-add", "pack add screen.txt --pack stallkit-acme --id asks --state waiting --kind confirm"),
    ("pack-lint", "pack lint stallkit-acme"),
    ("pack-lint", "pack lint shell_yn --fast --corpus cases.jsonl"),
    ("record-start", "record -o s.cast -- sh -c 'printf \"Go on? [y/N] \"; sleep 1'"),
    ("record-replay", "record replay s.cast"),
    ("eval", "eval cases.jsonl --by program --leave-out program --save before.json"),
    ("eval", "eval cases.jsonl --baseline before.json"),
    ("pack-tune", "pack tune shell_yn:yes_no --corpus cases.jsonl"),
    ("demo", "demo"),
]

# Commands whose output needs what only other tests have.
ELSEWHERE = {
    "sandbox-routes-edit": "apps/operator/tests/test_remedy_live.py",
    "sandbox-routes-reload": "apps/operator/tests/test_remedy_live.py",
    "sandbox-egress-edit": "apps/operator/tests/test_remedy_live.py",
    "sandbox-manifest": "apps/operator/tests/test_sandbox_start.py",
    **{f"fleet-{name}": "apps/fleet/tests/test_link.py" for name in ("approve", "decline", "doctor", "list")},
    **{f"fleet-{name}": "apps/fleet/tests/test_link.py" for name in ("reply", "report", "show", "watch")},
    **dict.fromkeys(("fleet-policy-list", "fleet-stuck-list"), "apps/fleet/tests/test_link.py"),
    "record-mark": "apps/lab/tests/e2e/test_record_command.py",
}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Two sessions of stallkit, one of which ended, and one of tmux that asks, which a supervisor watches."""
    with pytest.MonkeyPatch.context() as patch:
        made = House(tmp_path_factory.mktemp("printed"), patch)
        made.begin("up", "cat")
        made.begin("down", "sh", "-c", "exit 3")
        made.end_of("down")
        made.tmux("new-session", "-d", "-s", "ASK", *ASKS)
        made.environment["STALLKIT_TMUX"] = str(made.socket)
        write(made.folder / "cases.jsonl", row("a"), row("b", BUSY), row("c", BUSY, "idle"), row("d", **READS))
        watching = subprocess.Popen(
            [made.command, "watch", "tmux:ASK", "--json"], env={**os.environ, **made.environment}, cwd=made.folder,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        wait_for(lambda: json.loads(made.call("stuck", "list", "--json").stdout)["items"], "the item")
        with closing(Queue(made.state / "queue.db")) as queue:
            queue.notify("web", "key-00001", "npm is refused")
        yield made
        watching.terminate()
        watching.wait()
        made.end()


def test_each_command_prints_what_its_schema_says(scene: House) -> None:
    """One after the other: what one writes the next one reads."""
    pid = scene.tmux("display-message", "-p", "-t", "=ASK:", "#{pane_pid}").strip()
    for name, line in TYPED:
        words = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", line.replace("PID", pid))]
        at = words.index("--") if "--" in words else len(words)
        done = scene.call(*words[:at], "--json", *words[at:])
        if name == "stuck-approve":  # this one has no options
            assert done.returncode == 64 and not done.stdout, done
            continue
        try:
            printed(name, done)
        except (ValueError, jsonschema_rs.ValidationError) as error:
            pytest.fail(f"stallkit {line}: {str(error)[-800:]}\n{done.stdout[:1000]}{done.stderr}")


def test_events_that_are_watched_are_by_their_schema(scene: House) -> None:
    done = scene.call("watch", "tmux:ASK", "--json", "--for", "1", "--policy", "observe")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events
    for event in events:
        jsonschema_rs.validate(json_schema("watch"), event)


def with_json(command: click.Command, context: click.Context, words: tuple[str, ...] = ()) -> Iterator[str]:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            if name not in ("a", "r"):  # short names of answer and reply
                yield from with_json(below, click.Context(below, info_name=name, parent=context), (*words, name))
    elif any("--json" in option.opts for option in command.params):
        yield "-".join(words)


def test_every_command_with_json_has_a_schema_and_is_tried() -> None:
    found = set(with_json(cli, click.Context(cli, **cli.context_settings)))
    assert found <= set(all_printed().names) and set(all_printed().commands) <= found
    assert found == {name for name, _ in TYPED} | {*ELSEWHERE, "watch"}
    for name, file in ELSEWHERE.items():
        assert f'printed("{name}"' in (ROOT / file).read_text(), f"{file} tries {name}"


@pytest.mark.parametrize("name", all_printed().shapes)
def test_a_schema_is_one_and_refuses_something(name: str) -> None:
    schema = json_schema(name)
    jsonschema_rs.meta.validate(schema)
    for wrong in ({}, {"version": 2}, {"version": 1}, []):
        assert not jsonschema_rs.is_valid(schema, wrong)


def test_a_key_that_no_schema_names_is_noticed() -> None:
    schema = schema_of_shape({"a": {"b?": "text?"}, "c": [{"*": "integer"}]})
    assert jsonschema_rs.is_valid(closed(schema), {"a": {"b": None}, "c": [{"x": 1}]})
    for wrong in ({"a": {}, "c": [], "d": 1}, {"a": {"d": 1}, "c": []}, {"a": {}, "c": [{"x": "1"}]}, {"a": {}}):
        assert not jsonschema_rs.is_valid(closed(schema), wrong)
    with pytest.raises(KeyError):
        schema_of_shape({"a": "txt"})


def test_schemas_are_listed_and_suggested(scene: House) -> None:
    listed = scene.call("config", "schema").stdout
    assert all(name in listed for name in ("pack", "exit-record", "stuck-list"))
    assert json.loads(scene.call("config", "schema", "stuck", "list").stdout) == json_schema("stuck-list")
    wrong = scene.call("config", "schema", "stuck", "lst")
    assert wrong.returncode == 64 and "did you mean 'stuck-list'" in wrong.stderr
