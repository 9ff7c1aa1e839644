"""The figures as a page for Prometheus."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Callable

from stallkit.errors import StallkitError
from stallkit.press.events import Event
from stallkit_supervisor.notify.figures import BOUNDS_S, Change, Figure, Figures

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class Metrics:
    """Serves the figures in the text format of Prometheus.

    Needs the extra ``metrics``.
    """

    def __init__(self, address: str) -> None:
        """Serve them at ``HOST:PORT``, or ``:PORT`` on loopback.  Raises StallkitError if that fails."""
        host, _, port = address.rpartition(":")
        try:
            # extra: metrics
            from prometheus_client import CollectorRegistry, start_http_server
        except ImportError as error:
            why, todo = "prometheus_client is not installed", "pip install 'stallkit-supervisor[metrics]'"
            raise StallkitError("metrics", address, why, todo) from error
        registry = CollectorRegistry()
        self._figures = Figures(partial(_on_page, registry))
        try:
            self._server, self._thread = start_http_server(int(port), host.strip("[]") or "127.0.0.1", registry)
        except (OSError, OverflowError, ValueError) as error:
            raise StallkitError("metrics", address, str(error), "give a free HOST:PORT") from error

    @property
    def port(self) -> int:
        """The port in use, where 0 was given."""
        return int(self._server.server_port)

    def __call__(self, event: Event) -> None:
        self._figures.add(event)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _on_page(registry: CollectorRegistry, figure: Figure) -> Callable[[Change], object]:
    """What takes the changes of a figure."""
    from prometheus_client import Counter, Gauge, Histogram  # extra: metrics

    name, about, labels = figure.name, figure.about, figure.labels
    match figure.shape:
        case "counter":
            counter = Counter(name, about, labels, registry=registry)
            return lambda change: counter.labels(*change.labels).inc(change.value)
        case "gauge":
            gauge = Gauge(name, about, labels, registry=registry)
            return lambda change: gauge.labels(*change.labels).set(change.value)
        case "histogram":
            histogram = Histogram(name, about, labels, buckets=BOUNDS_S, registry=registry)
            return lambda change: histogram.labels(*change.labels).observe(change.value)
