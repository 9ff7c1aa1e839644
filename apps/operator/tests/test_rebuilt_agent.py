"""Real Claude Code in bubblewrap, with a scripted model: after a rebuild it goes on by itself."""

from __future__ import annotations

import importlib
import json
from contextlib import closing
from typing import Any, Iterator

import pytest
from boxed import need_bwrap
from rebuilt import Site, site_in
from stallkit_operator.sandbox.rebuild import Runner
from stallkit_operator.sandbox.rebuild_plan import GO_ON, Outcome
from started import House
from terminal_fixtures import PROGRAMS, ROOT
from terminals import wait_for

pytestmark = pytest.mark.e2e

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
def site(house: House, monkeypatch: pytest.MonkeyPatch, model: Any) -> Iterator[Site]:
    need_bwrap(monkeypatch)
    stage = importlib.import_module("claude_stage")
    for name, value in {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": stage.KEY,
        "CLAUDE_CONFIG_DIR": "/home/agent/.claude",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }.items():
        monkeypatch.setenv(name, value)
    with closing(site_in(house)) as made:
        kept = house.state / "sandboxes" / "web" / "transcript"
        kept.mkdir(parents=True, mode=0o700)
        known = {"hasCompletedOnboarding": True, "theme": "dark", "numStartups": 20}
        known |= {"customApiKeyResponses": {"approved": [stage.KEY[-20:]], "rejected": []}}
        (kept / ".claude.json").write_text(json.dumps({**known, "projects": {str(made.work): stage.TRUSTED}}))
        settings = {"permissions": {"defaultMode": "default", "disableAutoMode": "disable"}}
        (kept / "settings.json").write_text(json.dumps(settings))
        yield made


def heard(model: Any, text: str) -> list[str]:
    """The requests of its turns that hold a text."""
    turns = [json.dumps(body) for _, body in model.requests if body and len(body.get("tools") or []) >= 3]
    return [one for one in turns if text in one]


@pytest.mark.parametrize(
    ("command", "interactive"), [([CLAUDE, TOLD], False), (["sh", "-c", f"{CLAUDE} '{TOLD}'; exit"], True)]
)
def test_it_goes_on_by_itself(site: Site, model: Any, command: list[str], interactive: bool) -> None:
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
