"""The page of figures, as Prometheus fetches it."""

from __future__ import annotations

import urllib.request

from stallkit_supervisor.notify.metrics import Metrics


def text_of(metrics: Metrics) -> str:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://127.0.0.1:{metrics.port}/metrics", timeout=20) as answer:
        return str(answer.read().decode())


def page(metrics: Metrics) -> dict[str, float]:
    """The value of each series, by its name with its labels."""
    lines = text_of(metrics).splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[:1] != "#")}
