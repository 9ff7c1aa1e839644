"""The figures for a collector of OpenTelemetry, by OTLP over HTTP."""

from __future__ import annotations

import logging
import socket
import threading
from functools import partial
from typing import TYPE_CHECKING, Callable
from urllib.parse import urlsplit

from stallkit.errors import ConfigError, StallkitError
from stallkit.press.events import Event
from stallkit_supervisor.notify.figures import BOUNDS_S, Change, Figure, Figures
from stallkit_supervisor.notify.hooks import Webhook

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter

EVERY_S, SEND_S, CLOSE_S = 15.0, 5.0, 5.0
_PATH, _LOG = "/v1/metrics", logging.getLogger("opentelemetry")


class Otlp:
    """Sends the figures every `EVERY_S`, in a thread of its own, and at the end.  Needs the extra ``otlp``."""

    def __init__(self, url: str, tell: Callable[[str], object], host: str = "", every_s: float = EVERY_S) -> None:
        """`tell` hears when a collector begins to fail; `host` is whose figures they are.  Raises StallkitError."""
        endpoint, self._name = _endpoint(url)
        try:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter  # extra: otlp
            from opentelemetry.sdk.metrics import MeterProvider  # extra: otlp
            from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # extra: otlp
            from opentelemetry.sdk.resources import Resource  # extra: otlp
        except ImportError as error:
            why, todo = "opentelemetry is not installed", "pip install 'stallkit-supervisor[otlp]'"
            raise StallkitError("otlp", self._name, why, todo) from error
        of = host or socket.gethostname()
        who = {"service.name": "stallkit", "service.instance.id": of, "host.name": of}
        self._tell, self._every_s = tell, every_s
        self._exporter, self._reader = OTLPMetricExporter(endpoint, timeout=SEND_S), InMemoryMetricReader()
        meter = MeterProvider([self._reader], Resource.create(who), shutdown_on_exit=False).get_meter("stallkit")
        self._figures = Figures(partial(_sent, meter))
        self._heard, self._news, self._down, self._over = _Heard(), False, False, threading.Event()
        _LOG.addHandler(self._heard)
        self._thread = threading.Thread(target=self._run, name="stallkit otlp", daemon=True)
        self._thread.start()

    def __call__(self, event: Event) -> None:
        self._figures.add(event)
        self._news = True

    def close(self) -> None:
        """Send what is new, for `CLOSE_S` at most, and not to a collector that is down."""
        self._over.set()
        if self._down:
            self._exporter.shutdown()  # which waits no longer until it tries again
        self._thread.join(CLOSE_S)

    def _run(self) -> None:
        while not self._over.wait(self._every_s):
            self._send()
        if self._news and not self._down:
            self._send()
        self._exporter.shutdown()
        _LOG.removeHandler(self._heard)

    def _send(self) -> None:
        self._news, self._heard.why = False, ""
        try:
            data = self._reader.get_metrics_data()
            well = data is None or self._exporter.export(data).name == "SUCCESS"
        except Exception as error:  # some versions let it through; the next try may succeed
            well, self._heard.why = False, _cause(error)
        if not well and not self._down:
            self._tell(f"otlp {self._name}: {self._heard.why}; see that a collector listens there, it is tried again")
        self._down = not well


class _Heard(logging.Handler):
    """Why the exporter failed: its log alone says that; unheard it would be printed, with the address."""

    why = ""

    def emit(self, record: logging.LogRecord) -> None:
        errors = (arg for arg in record.args or () if isinstance(arg, Exception))
        self.why = self.why or next(map(_cause, errors), record.getMessage())


def _cause(error: BaseException) -> str:
    """The first cause of an error; those that follow from it name the whole address."""
    under = error.__cause__ or error.__context__
    return _cause(under) if under else getattr(error, "strerror", None) or str(error) or type(error).__name__


def _endpoint(url: str) -> tuple[str, str]:
    """Where the figures go, and its host: the rest of it may hold a token.  Raises ConfigError for no address."""
    try:
        Webhook(url)  # what holds for the address of one holds for this one
    except ValueError as error:
        raise ConfigError("otlp", str(error), "write [events] otlp as http://HOST:4318") from error
    parts = urlsplit(url)
    return parts._replace(path=parts.path.removesuffix(_PATH).rstrip("/") + _PATH).geturl(), parts.hostname or ""


def _sent(meter: Meter, figure: Figure) -> Callable[[Change], object]:
    """What takes the changes of a figure."""
    from opentelemetry.metrics import Observation  # extra: otlp

    match figure.shape:
        case "counter":
            counter = meter.create_counter(figure.name, description=figure.about)
            return lambda change: counter.add(change.value, change.labelled)
        case "gauge":  # one that is asked: some versions send of others only what changed
            last: dict[tuple[str, ...], Observation] = {}
            meter.create_observable_gauge(figure.name, [lambda _: list(last.values())], description=figure.about)
            return lambda change: last.update({change.labels: Observation(change.value, change.labelled)})
        case "histogram":
            made = meter.create_histogram(figure.name, "s", figure.about, explicit_bucket_boundaries_advisory=BOUNDS_S)
            return lambda change: made.record(change.value, change.labelled)
