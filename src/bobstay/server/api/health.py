"""How the server fares: for those who watch over it, and for pages that must know its settings."""

from typing import Literal

from msgspec import Struct
from starlette.responses import Response

from bobstay.model.around import SessionConfig
from bobstay.permissions.mode import MODES as PERMISSION_MODES
from bobstay.providers.catalogue import Catalogue
from bobstay.server.api.sessions import MOST_LISTED, MOST_SENT
from bobstay.server.api.table import Call, Endpoint
from bobstay.server.api.transcript import MOST_EVENTS
from bobstay.server.metrics import CONTENT_TYPE, Meter, text
from bobstay.server.sessions.open import CRITICAL, WARNING
from bobstay.server.stream.timing import Timing
from bobstay.server.workflows import MODES
from bobstay.version import __version__

WARNING_TEXT = "Approaching context limit (60%)"
CRITICAL_TEXT = "Context nearly full (90%). Consider starting a new session."


class Healthy(Struct, frozen=True):
    status: Literal["ok"] = "ok"


class Threshold(Struct, frozen=True):
    at: float
    """Part of the context that is full."""
    text: str


class Thresholds(Struct, frozen=True):
    warning: Threshold = Threshold(WARNING, WARNING_TEXT)
    critical: Threshold = Threshold(CRITICAL, CRITICAL_TEXT)


class ModeOption(Struct, frozen=True):
    name: str
    label: str
    description: str
    permission_modes: tuple[str, ...] = ()
    """Those a session in this mode may be in; none named means any."""


class PermissionOption(Struct, frozen=True):
    name: str
    description: str


class ModelOption(Struct, frozen=True):
    """A model one can name shortly. Any other is named by its id, or as `provider/id`."""

    alias: str
    name: str
    label: str
    context: int
    images: bool


class Limits(Struct, frozen=True):
    body_bytes: int
    """Of a message with its pictures."""
    events_page: int
    sessions_page: int
    running: int
    """Sessions that work at once; others wait in line."""


class ServerConfig(Struct, frozen=True):
    version: str
    timing: Timing
    """Both ends of a stream keep to it: the client's patience is never shorter than the server's beat (FM-4)."""
    thresholds: Thresholds
    workflows: tuple[ModeOption, ...]
    permission_modes: tuple[PermissionOption, ...]
    models: tuple[ModelOption, ...]
    engines: tuple[str, ...]
    limits: Limits
    default_max_turns: int


async def health(_: Call) -> Healthy:
    """Whether the server answers. It tells nobody more than that."""
    return Healthy()


async def metrics(call: Call) -> Response:
    """Numbers for Prometheus."""
    console = call.console
    if console.meter is None:
        console.meter = Meter(console.registry)
    return Response(text(console, console.meter), media_type=CONTENT_TYPE)


async def config(call: Call) -> ServerConfig:
    """What a client must know of this server: times, limits, modes, models, engines."""
    given = call.console.config
    return ServerConfig(
        version=__version__,
        timing=Timing.of(given.heartbeat),
        thresholds=Thresholds(),
        workflows=tuple(
            ModeOption(mode.name, mode.label, mode.description, mode.permission_modes) for mode in MODES.values()
        ),
        permission_modes=tuple(PermissionOption(mode.name, mode.title) for mode in PERMISSION_MODES.values()),
        models=_models(),
        engines=("native", *given.engines),
        limits=Limits(MOST_SENT, MOST_EVENTS, MOST_LISTED, given.most_running),
        default_max_turns=SessionConfig().max_turns,
    )


def _models() -> tuple[ModelOption, ...]:
    catalogue = Catalogue()
    found: list[ModelOption] = []
    for alias, name in catalogue.aliases.items():
        info = catalogue.lookup(name)
        found.append(ModelOption(alias, name, info.display or name, info.context, info.images))
    return tuple(found)


ENDPOINTS = (
    Endpoint("GET", "/health", health, None, returns=Healthy),
    Endpoint("GET", "/metrics", metrics, returns=Response, media=CONTENT_TYPE),
    Endpoint("GET", "/config", config, returns=ServerConfig),
)
