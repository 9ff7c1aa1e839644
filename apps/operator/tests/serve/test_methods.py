"""What programs may ask: who may reply to what, and that no request breaks the server."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from looks import reads
from stallkit_operator.item import Category, Draft, Source, Who
from stallkit_operator.queue import Queue
from stallkit_operator.serve.json_rpc import answered
from stallkit_operator.serve.methods import METHODS, Services, allows
from strategies import anything
from watched_state import ANYBODYS, OWN, YES_NO, verdict

from stallkit import Engine, MemoryTransport
from stallkit.detect.dialog import Role
from stallkit.detect.dialog_parser import Option
from stallkit.detect.signature import Kind, Pack, Request, Severity
from stallkit.press.policy import CAREFUL, OBSERVE, Policy
from stallkit.press.policy_file import DAEMON
from stallkit.press.rules import Act, PromptFacts, Rule, Scene
from stallkit.transports.base import Transport

ADA = Who("ada", "a test")
HERE = Scene("tmux:one", kernel=reads("claude"))


def asked(kind: str = "confirm", severity: str = "low", pack: Pack = OWN) -> PromptFacts:
    return PromptFacts.of(verdict(kind=kind, severity=severity, pack=pack))


@pytest.fixture
def services(tmp_path: Path, engine: Engine) -> Services:
    @contextmanager
    def queue() -> Iterator[Queue]:
        made = Queue(tmp_path / "queue.db")
        yield made
        made.close()

    def reach(target: str, server: str | None) -> Transport:
        if not target.startswith("memory:"):
            raise ValueError(f"{target!r} is not a target")
        return MemoryTransport("Proceed? [y/N] ")

    return Services(queue, lambda: engine, reach)


def call(services: Services, method: str, **params: object) -> dict[str, object]:
    found = answered(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}), services, ADA)
    assert found is not None
    return found


def test_a_policy_says_what_programs_may_answer() -> None:
    assert allows(CAREFUL, asked(), HERE, "n") is None
    assert allows(DAEMON, PromptFacts.of(YES_NO), HERE, "anything") is None, "no option stands there"
    left = [
        (OBSERVE, asked(), HERE, "answers nothing"),
        (CAREFUL, asked(), evolve(HERE, kernel=reads("node")), "not proven: it is /usr/bin/node"),
        (CAREFUL, asked(severity="medium"), HERE, "a person"),
        (CAREFUL, asked(pack=ANYBODYS), HERE, "any program may show this prompt"),
        (DAEMON, PromptFacts.of(YES_NO), evolve(HERE, kernel=reads("node")), "any program may show this prompt"),
        (DAEMON, asked(severity="high"), HERE, "a person"),
        (DAEMON, asked("permission"), HERE, "a machine never answers a permission"),
        (DAEMON, asked("secret"), HERE, "a machine never answers a secret"),
    ]
    for policy, what, scene, why in left:
        assert why in str(allows(policy, what, scene, "y")), (policy.name, what)
    mine = Policy("mine", True, rules=[Rule(do="escalate", session="tmux:prod-*", why="production")])
    assert allows(mine, asked(), HERE, "y") is None
    assert "production" in str(allows(mine, asked(), evolve(HERE, session="tmux:prod-1"), "y"))
    opened = Policy("mine", rules=[Rule(do="press", signature="acme:asks", session="tmux:one")])
    assert allows(opened, asked("confirm", "medium"), HERE, "y") is None
    for kind, severity in (("permission", "medium"), ("confirm", "high")):
        assert "only by a rule that names its option" in str(allows(opened, asked(kind, severity), HERE, "y"))
    assert "leaves it to a person" in str(allows(opened, asked(), evolve(HERE, session="tmux:two"), "y"))


def test_of_a_menu_programs_choose_what_the_policy_would_or_reject() -> None:
    options = (Option("Yes", 1, True, Role.ONCE), Option("Always", 2), Option("No", 3, role=Role.REJECT))
    labels = tuple(one.text for one in options)
    menu = evolve(asked("permission", "high"), labels=labels, request=Request({}, {}, options))
    enter, second, escape = (
        evolve(menu, kind=Kind.CONFIRM, signature=PromptFacts.of(verdict(keys=keys)).signature)
        for keys in ("Enter", "2 Enter", "Escape")
    )
    yes, always = (
        Policy("mine", rules=[Rule(do="press", signature="acme:asks", option=option, session="tmux:one")])
        for option in ("Yes", "Always")
    )
    for policy, what, allowed in (
        (yes, menu, {"Yes", "No"}),
        (always, menu, {"Always", "No"}),
        (CAREFUL, enter, {"Yes", "No"}),
        (CAREFUL, second, {"Always", "No"}),
        (CAREFUL, escape, {"No"}),
        (CAREFUL, evolve(enter, request=None), set()),  # which of them is selected is not known
    ):
        told = {answer: allows(policy, what, HERE, answer) for answer in (*labels, "yes", "1", "y")}
        assert {answer for answer, why in told.items() if why is None} == allowed, (policy, what)
        says = " or ".join(repr(one) for one in labels if one in allowed) or "none of its options"
        assert told["y"] == f"policy {policy.name} lets programs choose {says}"


@given(st.sampled_from(Kind), st.sampled_from(Severity), st.sampled_from(sorted({*Act} - {Act.PRESS, Act.SEND})))
def test_a_rule_that_presses_nothing_lets_no_program_answer(kind: Kind, severity: Severity, act: Act) -> None:
    policy = Policy("mine", True, rules=[Rule(do=act, session="tmux:one")])
    assert allows(policy, asked(kind, severity), HERE, "y") is not None


def test_a_rule_keeps_the_notices_of_a_session_for_a_person(services: Services) -> None:
    for number, (rule, result) in enumerate(
        (
            (Rule(do="escalate", session="web", why="a person answers here"), "refused"),
            (Rule(do="escalate"), "refused"),
            (Rule(do="escalate", session="db-*"), "done"),
            (Rule(do="escalate", kind="permission"), "done"),  # of prompts: a notice is none
        )
    ):
        with services.queue() as queue:
            item = queue.notify("web", f"0123456789{number}", "the mirror is blocked", 2e9)
        mine = evolve(services, policy=Policy("mine", True, rules=[rule]))
        told = call(mine, "reply", id=item.id, revision=item.revision, text="use the other")["result"]
        assert isinstance(told, dict) and told["result"] == result, rule


def test_a_notice_is_declined_and_a_prompt_is_not(services: Services) -> None:
    rules = [Rule(do="press", signature="acme:asks", session="tmux:one")]
    audited: list[object] = []
    mine = evolve(services, policy=Policy("mine", True, rules=rules), audit=audited.append)
    with services.queue() as queue:
        lacks = queue.triage(queue.notify("web", "0123456789", "there is no spell", 2e9).id, Category.CAPABILITY)
        prompt = queue.file(Draft("memory:one", Source.PROMPT, "confirm", "Proceed? [y/N]"))
    error = call(mine, "reply", id=prompt.id, revision=1, decline="no")["error"]
    assert isinstance(error, dict) and "only an agent's notice can be declined" in error["message"]
    refused = call(services, "reply", id=lacks.id, revision=lacks.revision, decline="no")["result"]
    assert isinstance(refused, dict) and refused["result"] == "refused" and not audited
    told = call(mine, "reply", id=lacks.id, revision=lacks.revision, decline="not on this branch")["result"]
    assert isinstance(told, dict) and told["item"]["state"] == "declined" and told["item"]["by"] == "ada"
    assert told["item"]["text"] == "not on this branch" and len(audited) == 1, "the manifests' log has it"
    waits = call(mine, "who_waits")["result"]
    assert isinstance(waits, dict) and waits["policy"] == "mine" and waits["host"]


def test_without_a_policy_nothing_is_answered_and_the_item_stays(services: Services) -> None:
    with services.queue() as queue:
        item = queue.notify("web", "0123456789", "the mirror is blocked", 2e9)
    told = call(services, "reply", id=item.id, revision=item.revision, text="use it")["result"]
    assert isinstance(told, dict) and told["result"] == "refused" and "read-only" in told["why"]
    with services.queue() as queue:
        assert queue.item(item.id).open
    listed = call(services, "who_waits")["result"]
    assert isinstance(listed, dict) and [one["id"] for one in listed["items"]] == [item.id]


def test_a_secret_in_a_message_does_not_leave(services: Services) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with services.queue() as queue:
        queue.notify("web", "0123456789", f"the token {secret} is refused", 2e9)
    told = json.dumps([call(services, "who_waits"), call(services, "explain", target=f"memory:{secret}")])
    assert secret not in told and secret not in json.dumps(call(services, "explain", target=secret))


WRONG: list[tuple[str, dict[str, object], int]] = [
    ("sing", {}, -32601),
    ("who_waits", {"loudly": True}, -32602),
    ("explain", {}, -32602),
    ("explain", {"target": 3}, -32602),
    ("explain", {"target": "file:/etc/passwd"}, -32000),
    ("explain", {"target": "nobody"}, -32000),
    ("reply", {"id": 1}, -32602),
    ("reply", {"id": 1, "text": "y"}, -32602),
    ("reply", {"id": True, "revision": 1, "text": "y"}, -32602),
    ("reply", {"id": 1, "revision": 1, "text": "y", "option": "1"}, -32602),
    ("reply", {"id": 1, "revision": 1, "text": " "}, -32602),
    ("reply", {"id": 99, "revision": 1, "text": "y"}, -32000),
]


def test_what_is_wrong_is_said_in_one_line_and_explain_is_a_check_with_its_facts(services: Services) -> None:
    for method, params, code in WRONG:
        error = call(services, method, **params)["error"]
        assert isinstance(error, dict) and error["code"] == code, (method, params)
        assert error["message"] and "\n" not in error["message"]
    told = call(services, "explain", target="memory:one")["result"]
    assert isinstance(told, dict)
    assert (told["state"], told["signature"]) == ("waiting", "yes_no") and told["facts"]


@given(st.binary(max_size=200) | anything().map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_get_an_answer_that_is_json(data: bytes) -> None:
    found = answered(data, Services(lambda: None, lambda: None, lambda a, b: None), ADA)  # type: ignore[arg-type,return-value]
    assert found is None or (found["jsonrpc"] == "2.0" and json.dumps(found))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


@given(id=JSON, method=JSON | st.sampled_from([*METHODS]), params=JSON)
def test_any_request_gets_an_answer_or_is_a_notification(id: object, method: object, params: object) -> None:
    request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    refuses = Services(_no_queue, lambda: None, lambda a, b: None)  # type: ignore[arg-type,return-value]
    found = answered(json.dumps(request), refuses, ADA)
    assert found is not None and ("result" in found) != ("error" in found)


@contextmanager
def _no_queue() -> Iterator[Queue]:
    raise ValueError("there is no queue here")
    yield
