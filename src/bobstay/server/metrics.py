"""Metrics of this server in the text format of Prometheus."""

import os
import resource
import time
from collections import Counter
from collections.abc import Iterable
from typing import get_args

from bobstay.model.event import Envelope
from bobstay.server.capacity import Capacity
from bobstay.server.db.database import Database
from bobstay.server.runner import Runner
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.sessions.session_status import Status
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.hub import Hub
from bobstay.version import __version__

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PAGE = os.sysconf("SC_PAGE_SIZE")


Value = tuple[str, float]
Metric = tuple[str, str, str, list[Value]]


class Metrics:
    """Counts events from its creation on. Registers itself with the registry; one per server."""

    def __init__(
        self, registry: SessionRegistry, runner: Runner, capacity: Capacity, hub: Hub, database: Database
    ) -> None:
        self._registry = registry
        self._runner = runner
        self._capacity = capacity
        self._hub = hub
        self._database = database
        self.began = time.monotonic()
        self.events = 0
        self.transitions: Counter[str] = Counter()
        registry.listeners.append(self._count)

    def _count(self, before: SessionView, after: SessionView, envelope: Envelope) -> None:
        self.events += 1
        if before.status != after.status:
            self.transitions[after.status] += 1

    def render(self) -> str:
        """The current value of all metrics."""
        lines: list[str] = []
        for name, kind, description, values in self._metrics():
            lines += (f"# HELP {name} {description}", f"# TYPE {name} {kind}")
            lines += (f"{name}{labels} {value}" for labels, value in values)
        return "\n".join(lines) + "\n"

    def _metrics(self) -> Iterable[Metric]:
        views = self._registry.views.values()
        by_status = Counter(view.status for view in views)
        statuses: tuple[Status, ...] = get_args(Status)
        yield _gauge("info", "The version that runs.", [(_label("version", __version__), 1)])
        yield _gauge("uptime_seconds", "Time since the server started.", round(time.monotonic() - self.began, 3))
        yield _gauge(
            "sessions", "Sessions by status.", [(_label("status", each), by_status[each]) for each in statuses]
        )
        yield _gauge(
            "workers", "Running agent workers.", sum(post.worker.alive() for post in self._runner.slots.values())
        )
        yield _gauge("slots_running", "Running sessions.", self._capacity.running)
        yield _gauge("slots_waiting", "Sessions that wait for a slot.", self._capacity.waiting)
        yield _gauge("slots_most", "Sessions that may run at once.", self._capacity.most)
        yield _gauge(
            "interactions_open", "Interactions that wait for a person.", sum(len(view.interactions) for view in views)
        )
        yield _gauge("clients_connected", "Open streams and sockets.", len(self._hub.clients()))
        yield _counter("events_appended_total", "Entries written to logs.", [("", self.events)])
        reached: list[Value] = [(_label("status", each), self.transitions[each]) for each in statuses]
        yield _counter("session_transitions_total", "Transitions of sessions into a status.", reached)
        yield from self._database_metrics()
        yield _gauge("resident_memory_bytes", "Memory of this process.", _memory())
        yield _counter("cpu_seconds_total", "Processor time of this process.", [("", round(time.process_time(), 3))])

    def _database_metrics(self) -> Iterable[Metric]:
        health = self._database.health()
        yield _gauge("database_up", "Whether the tables can be written.", int(health.ok))
        yield _gauge("database_lag_entries", "Log entries that are not yet in the tables.", health.waiting)
        yield _gauge("database_behind_sessions", "Sessions whose logs must be re-read.", health.behind)
        yield _gauge(
            "database_skipped_entries", "Log entries that were skipped because they fit no table.", health.skipped
        )


def _gauge(name: str, description: str, values: float | list[Value]) -> Metric:
    return f"bobstay_{name}", "gauge", description, values if isinstance(values, list) else [("", values)]


def _counter(name: str, description: str, values: list[Value]) -> Metric:
    return f"bobstay_{name}", "counter", description, values


def _label(name: str, value: str) -> str:
    escaped = value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'{{{name}="{escaped}"}}'


def _memory() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * PAGE
    except (OSError, ValueError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
