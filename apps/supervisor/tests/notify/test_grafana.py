"""The dashboard for Grafana: what its schema knows, and nothing but figures that are served."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
from prometheus_client.parser import text_string_to_metric_families
from scraped import text_of
from stallkit_supervisor.notify.metrics import Metrics
from told_events import event

BOARD = Path(__file__).parents[4] / "docs" / "grafana.json"
CHOICES = {"datasource", "instance", "by", "window"}
GRAFANAS_OWN = {"__range", "__rate_interval"}


@pytest.fixture(scope="module")
def board() -> Any:
    return json.loads(BOARD.read_text())


@pytest.fixture(scope="module")
def served() -> dict[str, set[str]]:
    """The labels of each series of a page that has one of each figure."""
    metrics = Metrics(":0")
    metrics(event("detection", state="waiting"))
    metrics(event("escalation", what="waits"))
    metrics(event("cleared", what="waits", kind="confirm", agent="claude", by="typed there", blocked_s=3))
    families = text_string_to_metric_families(text_of(metrics))
    found: dict[str, set[str]] = {}
    for sample in (sample for family in families for sample in family.samples):
        found.setdefault(sample.name, set()).update(sample.labels)
    metrics.close()
    return found


def lost(given: Any, kept: Any, at: str = "") -> list[str]:
    """What a reader of this schema does not know of it, or takes to be something else."""
    if isinstance(given, dict) and isinstance(kept, dict):
        return [one for key in given for one in lost(given[key], kept.get(key), f"{at}.{key}")]
    if isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        return [
            one for number, pair in enumerate(zip(given, kept, strict=True)) for one in lost(*pair, f"{at}.{number}")
        ]
    return [] if given == kept else [at]


def read(board: Any) -> Any:
    """The dashboard, as the types of Grafana's schema hold it: what they do not know is not in there."""
    register_default_plugins()
    return json.loads(JSONEncoder().encode(Dashboard.from_json(board)))


def test_the_schema_knows_every_key(board: Any) -> None:
    assert lost(board, read(board)) == []
    board = json.loads(json.dumps(board).replace('"gridPos"', '"gridPosition"').replace('"colorMode"', '"colour"'))
    assert [one for one in lost(board, read(board)) if ".0." in one] == [
        ".panels.0.gridPosition",
        ".panels.0.options.colour",
    ]


def queries(board: Any) -> list[str]:
    return [target["expr"] for panel in board["panels"] for target in panel["targets"]]


def test_each_query_asks_for_what_is_served(board: Any, served: dict[str, set[str]]) -> None:
    of_hosts = {"instance"}  # Prometheus adds it
    for query in queries(board):
        names = set(re.findall(r"stallkit_\w+", query))
        assert names and names <= {*served}, query
        labels = {one for name in names for one in served[name]} | of_hosts
        grouped = {one for group in re.findall(r"by \(([^)]*)\)", query) for one in re.split(r",\s*", group)}
        assert grouped - {"$by"} | {*re.findall(r"(\w+)=", query)} <= labels, query
        assert 'instance=~"$instance"' in query, "the choice of a host counts everywhere"
    assert {*served} - {name for query in queries(board) for name in re.findall(r"stallkit_\w+", query)} == {
        "stallkit_events_total",
        *(name for name in served if name.endswith(("_created", "_count", "_sum"))),
    }


def test_what_can_be_chosen_is_there(board: Any, served: dict[str, set[str]]) -> None:
    choices = {one["name"]: one for one in board["templating"]["list"]}
    assert {*choices} == CHOICES
    used = set(re.findall(r"\$\{?(\w+)\}?", json.dumps([board["panels"], *choices.values()])))
    assert used - GRAFANAS_OWN - {"__all"} == CHOICES
    assert {*choices["by"]["query"].split(",")} == served["stallkit_answer_seconds_bucket"] - {"le"}
    sources = {one["datasource"]["uid"] for panel in board["panels"] for one in (panel, *panel["targets"])}
    assert sources == {"${datasource}"} and "http" not in BOARD.read_text()


def test_panels_stand_beside_each_other(board: Any) -> None:
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in board["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len({*cells}) and {x for x, _ in cells} == {*range(24)}
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
