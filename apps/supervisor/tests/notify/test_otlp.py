"""The figures by OTLP: a real collector on loopback decodes what a real exporter sends; or is down, or refuses it."""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality
from posted import Site
from stallkit_supervisor.notify.figures import BOUNDS_S, FIGURES
from stallkit_supervisor.notify.otlp import Otlp
from stallkit_supervisor.service import opened
from stallkit_supervisor.settings import EventSettings, Settings
from terminals import wait_for
from told_events import event

from stallkit.errors import StallkitError

pytestmark = pytest.mark.usefixtures("alone")

SOON_S, NEVER_S = 0.05, 10_000.0
WAITS = {"what": "waits", "kind": "permission", "agent": "claude"}


class Collector(Site):
    """A receiver of OTLP, and what it was sent at last."""

    @property
    def last(self) -> ExportMetricsServiceRequest:
        found = ExportMetricsServiceRequest()
        found.ParseFromString(self.got[-1][2])
        return found

    @property
    def of(self) -> dict[str, str]:
        """The attributes of the resource."""
        [one] = self.last.resource_metrics
        return {each.key: each.value.string_value for each in one.resource.attributes}

    @property
    def figures(self) -> dict[str, dict[tuple[str, ...], Any]]:
        """The points of each figure, by the values of their labels in order."""
        [one] = self.last.resource_metrics
        [scope] = one.scope_metrics
        assert scope.scope.name == "stallkit"
        found: dict[str, dict[tuple[str, ...], Any]] = {}
        for metric in scope.metrics:
            data = getattr(metric, metric.WhichOneof("data"))
            figure = next(one for one in FIGURES if one.name == metric.name)
            assert metric.description == figure.about
            assert data.DESCRIPTOR.name == {"counter": "Sum"}.get(figure.shape, figure.shape.title())
            if figure.shape != "gauge":
                assert data.aggregation_temporality == AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
            for point in data.data_points:
                labels = {each.key: each.value.string_value for each in point.attributes}
                found.setdefault(metric.name, {})[tuple(labels[name] for name in figure.labels)] = point
        return found

    def count(self, name: str, *labels: str) -> float:
        point = self.figures[name][labels]
        return float(point.as_double if point.WhichOneof("value") == "as_double" else point.as_int)


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.end()


@pytest.fixture
def free_port() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return int(bound.getsockname()[1])


def test_a_collector_gets_sums_and_histograms_with_their_labels(collector: Collector) -> None:
    otlp = Otlp(collector.url, print, "build-3", NEVER_S)
    for target in ("tmux:one", "tmux:two"):
        otlp(event("detection", target, state="working"))
    otlp(event("detection", "tmux:one", state="waiting"))
    otlp(event("escalation", "tmux:one", **WAITS, state="waiting"))
    otlp(event("cleared", "tmux:one", **WAITS, blocked_s=45.0, by="typed there"))
    otlp(event("cleared", "tmux:one", **WAITS, blocked_s=2.0, by="typed there"))
    otlp(event("escalation", "tmux:two", what="limit", state="quota"))
    otlp(event("restart", "tmux:two", outcome="cleared"))
    otlp.close()
    assert [(where, kind) for where, kind, _ in collector.got] == [("POST /v1/metrics", "application/x-protobuf")]
    assert collector.of.items() >= {
        ("service.name", "stallkit"),
        ("service.instance.id", "build-3"),
        ("host.name", "build-3"),
    }
    assert collector.count("stallkit_events", "detection") == 3 and collector.count("stallkit_events", "cleared") == 2
    assert [collector.count("stallkit_sessions", state) for state in ("working", "waiting")] == [1, 1]
    assert [collector.count("stallkit_limits", what) for what in ("usage", "help")] == [1, 0]
    assert [collector.count("stallkit_restarts", outcome) for outcome in ("done", "failed")] == [1, 0]
    [(labels, blocked)] = collector.figures["stallkit_blocked_seconds"].items()
    assert labels == ("permission", "claude", "typed_there") and list(blocked.explicit_bounds) == list(BOUNDS_S)
    assert (blocked.count, blocked.sum) == (2, 47) and list(blocked.bucket_counts) == [0, 1, 0, 0, 1, *[0] * 7]
    [(labels, answer)] = collector.figures["stallkit_answer_seconds"].items()
    assert labels == ("permission", "claude", "typed_there") and answer.count == 1 and answer.sum <= 45


def test_they_are_sent_again_and_again_also_the_state_of_what_did_not_change(collector: Collector) -> None:
    otlp = Otlp(collector.url, print, every_s=SOON_S)
    otlp(event("detection", state="waiting"))
    wait_for(lambda: len(collector.got) > 2, "three requests")
    otlp.close()
    assert collector.count("stallkit_sessions", "waiting") == 1 == collector.count("stallkit_events", "detection")
    assert collector.of["host.name"] == socket.gethostname()


def test_whatever_a_program_is_called_labels_are_words(collector: Collector) -> None:
    otlp = Otlp(collector.url, print, every_s=NEVER_S)
    for agent in ('"} evil{\n', "\ud800", "a" * 10_000, "claude"):
        otlp(event("cleared", what="waits", kind="\x1b[31mred", agent=agent, blocked_s=1, by="somebody"))
    otlp.close()
    points = collector.figures["stallkit_blocked_seconds"]
    assert {labels: point.count for labels, point in points.items()} == {
        ("other", "other", "person"): 3,
        ("other", "claude", "person"): 1,
    }


def test_a_collector_that_is_down_is_told_once_and_gets_all_when_it_is_back(collector: Collector) -> None:
    told, collector.status = list[str](), 404
    otlp = Otlp(f"{collector.url}/a-token", told.append, every_s=SOON_S)
    otlp(event("restart", outcome="cleared"))
    wait_for(lambda: len(collector.got) > 3, "more tries")
    [line] = told
    assert line.startswith("otlp 127.0.0.1: ") and "404" in line and "token" not in line and "\n" not in line
    collector.status = 200
    sent = len(collector.got)
    wait_for(lambda: len(collector.got) > sent + 1, "one that it takes")
    assert collector.count("stallkit_restarts", "done") == 1 and collector.got[-1][0] == "POST /a-token/v1/metrics"
    collector.status = 404
    wait_for(lambda: len(told) > 1, "that it is down again")
    otlp.close()
    assert len(told) == 2


def test_where_nobody_listens_events_are_taken_and_the_end_comes(
    free_port: int, threads: Callable[[], set[str]], capfd: pytest.CaptureFixture[str]
) -> None:
    told: list[str] = []
    otlp = Otlp(f"http://127.0.0.1:{free_port}", told.append, every_s=SOON_S)
    for _ in range(1_000):
        otlp(event("restart", outcome="cleared"))
    wait_for(lambda: told, "that nobody listens")
    otlp.close()
    wait_for(lambda: not threads(), "the end of its thread")
    assert told == ["otlp 127.0.0.1: Connection refused; see that a collector listens there, it is tried again"]
    assert capfd.readouterr() == ("", ""), "the exporter's own log is not printed"
    assert not [one for one in logging.getLogger("opentelemetry").handlers if "Heard" in type(one).__name__]


def test_a_collector_that_does_not_answer_holds_nothing_up(collector: Collector) -> None:
    collector.hold.clear()
    otlp, done = Otlp(collector.url, print, every_s=SOON_S), threading.Event()
    wait_for(lambda: collector.got, "a request")
    for _ in range(1_000):
        otlp(event("restart", outcome="cleared"))
    threading.Thread(target=lambda: (otlp.close(), done.set())).start()
    wait_for(done.is_set, "the end")


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:4318", "ftp://x", "http://", "http://x:0", "http://a b", "http://u:p@x"]
)
def test_what_is_no_address_of_a_collector_is_one_line(url: str) -> None:
    with pytest.raises(StallkitError, match=r"\Aconfig otlp: .*; write \[events\] otlp as http://HOST:4318\Z"):
        Otlp(url, print)


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch, threads: Callable[[], set[str]]) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.metrics", None)
    with pytest.raises(StallkitError, match=r"\Aotlp 127.0.0.1: opentelemetry is not installed; .*\[otlp\]'\Z"):
        Otlp("http://127.0.0.1:4318/a-token", print)
    assert threads() == set()


def test_the_settings_name_it(collector: Collector, threads: Callable[[], set[str]]) -> None:
    async def say() -> None:
        async with supervisor:
            supervisor.refuse("of a test")

    told: list[str] = []
    with ExitStack() as stack:
        supervisor = opened(stack, Settings(events=EventSettings(otlp=collector.url)), None, told.append, [])
        asyncio.run(say())
    assert collector.count("stallkit_events", "reload_refused") == 1
    assert (told, threads()) == ([], set())


def test_a_check_calls_nobody(collector: Collector, stallkit_command: str, tmp_path: Path) -> None:
    config = tmp_path / "stallkit.toml"
    check = [stallkit_command, "watch", "--service", "--check", "--config", str(config)]
    for url, code, said in (
        (f"{collector.url}/token", 0, "otlp: figures can be sent to 127.0.0.1, which was not called\n"),
        ("127.0.0.1:4318", 1, "otlp as http://HOST:4318\n"),
    ):
        config.write_text(f'[watch]\nall = true\n[events]\notlp = "{url}"\n')
        done = subprocess.run(check, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == code and (done.stdout + done.stderr).endswith(said), done
    assert collector.got == []
