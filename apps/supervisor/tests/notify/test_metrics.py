"""The page for Prometheus: a real one is fetched, and read by the parser of its own library."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families
from scraped import page, text_of
from stallkit_supervisor.notify.figures import FIGURES
from stallkit_supervisor.notify.metrics import Metrics
from told_events import event

from stallkit.errors import StallkitError

BLOCKED, ANSWER = "stallkit_blocked_seconds", "stallkit_answer_seconds"


def test_figures_are_served() -> None:
    metrics, other = Metrics(":0"), Metrics("127.0.0.1:0")
    for target in ("tmux:one", "tmux:two"):
        metrics(event("detection", target, state="working"))
    metrics(event("detection", "tmux:one", state="waiting"))
    metrics(event("escalation", "tmux:one"))
    found = page(metrics)
    assert found['stallkit_events_total{event="detection"}'] == 3
    assert found['stallkit_events_total{event="escalation"}'] == 1
    assert found['stallkit_sessions{state="working"}'] == found['stallkit_sessions{state="waiting"}'] == 1
    metrics(event("gone", "tmux:one"))
    found = page(metrics)
    assert found['stallkit_sessions{state="waiting"}'] == 0, "none, not nothing"
    assert found['stallkit_sessions{state="gone"}'] == 1
    assert not any("tmux" in name for name in found), "names of sessions are nobody's business"
    assert 'stallkit_events_total{event="escalation"}' not in page(other), "two pages are two"
    metrics.close(), other.close()


def test_limits_and_restarts_are_served_from_the_start() -> None:
    metrics = Metrics(":0")
    found = page(metrics)
    names = ('limits_total{what="usage"}', 'limits_total{what="help"}')
    names += ('restarts_total{outcome="done"}', 'restarts_total{outcome="failed"}')
    assert [found[f"stallkit_{name}"] for name in names] == [0] * 4
    metrics(event("limit")), metrics(event("restart", outcome="cleared")), metrics(event("restart", outcome="refused"))
    found = page(metrics)
    assert [found[f"stallkit_{name}"] for name in names] == [0, 1, 1, 1]
    metrics.close()


def test_what_is_no_address_for_figures_is_one_line() -> None:
    metrics = Metrics(":0")
    for bad in ("", ":", "9100x", ":port", ":99999", ":-1", f"127.0.0.1:{metrics.port}", "no host at all:0"):
        with pytest.raises(StallkitError) as caught:
            Metrics(bad)
        assert str(caught.value).startswith("metrics") and "\n" not in str(caught.value)
    metrics.close()


def test_for_how_long_sessions_were_blocked_by_kind_agent_and_answerer() -> None:
    metrics = Metrics(":0")
    metrics(event("escalation", what="waits"))
    for seconds in (2.0, 45.0):
        metrics(event("cleared", what="waits", by="somebody", blocked_s=seconds, kind="permission", agent="claude"))
    metrics(event("cleared", what="failed", by="stallkit", blocked_s=7_000, kind=None, agent=None))
    metrics(event("cleared", what="waits", by="somebody"))  # it is not known for how long
    found = page(metrics)
    labels = 'agent="claude",answerer="person",kind="permission"'
    assert found[f"{BLOCKED}_count{{{labels}}}"] == 2 and found[f"{BLOCKED}_sum{{{labels}}}"] == 47
    bounds = {bound: found[f'{BLOCKED}_bucket{{{labels},le="{bound}"}}'] for bound in ("1.0", "3.0", "30.0", "60.0")}
    assert bounds == {"1.0": 0, "3.0": 1, "30.0": 1, "60.0": 2}
    assert found[f'{BLOCKED}_count{{agent="none",answerer="stallkit",kind="failed"}}'] == 1
    assert sum(value for name, value in found.items() if name.startswith(f"{BLOCKED}_count")) == 3
    assert found[f"{ANSWER}_count{{{labels}}}"] == 1 and found[f"{ANSWER}_sum{{{labels}}}"] <= 2
    metrics.close()


def test_whatever_programs_are_called_the_page_stays_short() -> None:
    metrics = Metrics(":0")
    for number in range(1_000):
        metrics(event("cleared", by="somebody", blocked_s=1, kind="confirm", agent=f"agent{number}"))
    metrics(event("cleared", by="somebody", blocked_s=1, kind="confirm", agent='"} evil{\n'))
    counts = {name: value for name, value in page(metrics).items() if name.startswith(f"{BLOCKED}_count")}
    assert len(counts) <= 202 and sum(counts.values()) == 1_001 and not any("evil" in name for name in counts)
    metrics.close()


def test_the_page_has_each_figure_with_what_it_says() -> None:
    metrics = Metrics(":0")
    families = text_string_to_metric_families(text_of(metrics))
    metrics.close()
    served = {one.name: (one.type, one.documentation) for one in families if not one.name.endswith("_created")}
    assert served == {one.name: (one.shape, one.about) for one in FIGURES}
