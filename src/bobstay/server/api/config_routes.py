"""Configuration of the server for its clients: timing, limits, modes, models and engines."""

import asyncio
import os
from collections.abc import Sequence
from typing import get_args, get_type_hints

from msgspec import Struct

from bobstay.assembly.model_choice import choose_model
from bobstay.assembly.model_routes import ModelRoutes
from bobstay.assembly.provider_access import build_routes, resolve_environment
from bobstay.config.environment import Environment
from bobstay.config.key_sources import load_person_settings
from bobstay.config.options import Options
from bobstay.model.session_events import SessionConfig
from bobstay.permissions.mode import MODES as PERMISSION_MODES
from bobstay.server.api.browser_socket import LARGEST_FRAME
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.api.health_routes import CRITICAL_TEXT, WARNING_TEXT
from bobstay.server.api.permission_lifting import LIFTING
from bobstay.server.api.services import Services
from bobstay.server.api.session_bodies import MOST_LISTED, MOST_SENT, ImagePart, NewSession
from bobstay.server.api.transcript_routes import MOST_EVENTS
from bobstay.server.auxiliary_workers import MOST_TERMINALS
from bobstay.server.files.session_directory import is_allowed
from bobstay.server.sessions.context_threshold import CRITICAL, WARNING
from bobstay.server.streams.stream_timing import StreamTiming
from bobstay.server.workers.process.engine_process import find_engine_program
from bobstay.server.workers.process.engine_trust import is_claude
from bobstay.server.workers.process.engine_version import version_warning
from bobstay.server.workers.worker import WorkerError
from bobstay.server.workflows import BYPASS, MODES
from bobstay.version import __version__

MOST_BYPASS_MINUTES = 24 * 60
CLAUDE_MEMORY = "120 to 200 MB of memory"
OVERHEAD_BYTES = 64 * 1024
"""Bytes reserved for the text of a message with images."""
LABELS = {
    "default": ("Ask", "Asks before anything that changes something."),
    "acceptEdits": ("Accept edits", "Edits files in the working directories without asking; asks about all else."),
    "plan": ("Plan only", "Reads and plans. Asks before anything else, whatever the rules allow."),
    "auto": ("Auto", "A small model decides what is harmless; it asks you about the rest."),
    "dontAsk": ("Deny instead of asking", "Denies whatever would need your approval. For unattended work."),
    "bypassPermissions": ("Bypass", "Asks about almost nothing, for a limited time. Only where nothing can be broken."),
}


class ContextThreshold(Struct, frozen=True):
    at: float
    """Used fraction of the context window."""
    text: str


class Thresholds(Struct, frozen=True):
    warning: ContextThreshold = ContextThreshold(WARNING, WARNING_TEXT)
    critical: ContextThreshold = ContextThreshold(CRITICAL, CRITICAL_TEXT)


class ModeOption(Struct, frozen=True):
    name: str
    label: str
    description: str
    details: str
    """A sentence about what it does and does not do."""
    permission_modes: tuple[str, ...] = ()
    """Permission modes allowed in this mode; empty for all. A session begins in the first."""
    leaves: str = ""
    """The artifact it produces: `research`, `plan`, `review`, or empty for none."""


class PermissionOption(Struct, frozen=True):
    name: str
    label: str
    description: str
    needs_approve: bool
    """Whether choosing it needs the scope `approve`, because it asks less."""
    timed: bool
    """Whether it ends after a time, see `bypass`."""


class ModelOption(Struct, frozen=True):
    """A model with an alias. Any other is named by its id, or as `provider/id`."""

    alias: str
    name: str
    label: str
    context: int
    images: bool
    available: bool
    """Whether the server has what it needs to use it, such as a key. The provider is not contacted."""
    problem: str
    """What is missing, and what to do; empty if it is available."""


class EngineOption(Struct, frozen=True):
    name: str
    label: str
    installed: bool
    problem: str
    about: str
    """A description with its cost in memory."""
    version: str
    """Version of the program; empty if it is not known (yet)."""
    warning: str
    """A warning about a version that was not tested with this server."""


class BypassLimits(Struct, frozen=True):
    mode: str
    default_minutes: float
    most_minutes: float


class ServerLimits(Struct, frozen=True):
    body_bytes: int
    """Maximum bytes of a message with its images, as JSON."""
    image_bytes: int
    """Maximum bytes of all images of a message, before base64."""
    image_types: tuple[str, ...]
    events_page: int
    sessions_page: int
    running: int
    """Sessions that may run at once; others wait in a queue."""
    terminals: int
    """Maximum terminals of a session."""
    frame_characters: int
    """Maximum characters of a frame from a client."""


class ServerConfig(Struct, frozen=True):
    version: str
    server_id: str
    """Id of this run of the server; the same as in `server.hello`."""
    timing: StreamTiming
    """Timing of streams: a client's timeout is never shorter than the server's heartbeat interval."""
    thresholds: Thresholds
    workflows: tuple[ModeOption, ...]
    permission_modes: tuple[PermissionOption, ...]
    models: tuple[ModelOption, ...]
    default_model: str
    """Model of sessions that name none; empty if there is no key for any."""
    engines: tuple[str, ...]
    engine_options: tuple[EngineOption, ...]
    """The engines with details, and whether they can be started."""
    limits: ServerLimits
    bypass: BypassLimits
    default_max_turns: int
    roots: tuple[str, ...]
    """Sessions may work in these directories and below."""
    start_directory: str
    """Where the server was started, if sessions may work there."""
    home: str
    notifications: bool
    """Whether push notifications are supported, see `/push`."""


async def config(call: ApiCall) -> ServerConfig:
    """Show the server's configuration for clients: timing, limits, modes, models and engines."""
    services = call.services
    given, environment = services.options, services.environment
    default, models = await models_of(environment)
    engines = await _engines(services)
    return ServerConfig(
        version=__version__,
        server_id=services.streams.server_id,
        timing=StreamTiming.of(given.heartbeat),
        thresholds=Thresholds(),
        workflows=tuple(
            ModeOption(mode.name, mode.label, mode.description, mode.details, mode.permission_modes, mode.leaves)
            for mode in MODES.values()
        ),
        permission_modes=tuple(
            PermissionOption(name, *LABELS.get(name, (name, mode.title)), name in LIFTING, name == BYPASS)
            for name, mode in PERMISSION_MODES.items()
        ),
        models=models,
        default_model=default,
        engines=("native", *given.engines),
        engine_options=engines,
        limits=ServerLimits(
            MOST_SENT,
            (MOST_SENT - OVERHEAD_BYTES) * 3 // 4,
            get_args(get_type_hints(ImagePart)["media_type"]),
            MOST_EVENTS,
            MOST_LISTED,
            given.most_running,
            MOST_TERMINALS,
            LARGEST_FRAME,
        ),
        bypass=BypassLimits(BYPASS, NewSession("").bypass_minutes, MOST_BYPASS_MINUTES),
        default_max_turns=SessionConfig().max_turns,
        roots=services.roots.allowed().roots,
        start_directory=_start_directory(services),
        home=environment.paths.home,
        notifications=True,
    )


async def models_of(environment: Environment) -> tuple[str, tuple[ModelOption, ...]]:
    """The model of sessions that name none, and all models with an alias."""
    loaded, _ = await asyncio.to_thread(load_person_settings, environment)
    environment, _ = await asyncio.to_thread(resolve_environment, environment, loaded)
    routes = build_routes(environment, loaded)
    try:
        found = [_model(routes, str(each["value"]), str(each["displayName"])) for each in routes.list_models()]
        try:
            default, _ = choose_model(Options(), loaded, environment, routes)
        except ValueError:
            default = ""
        return default, tuple(found)
    finally:
        await routes.close()


def _start_directory(services: Services) -> str:
    bounds = services.roots.allowed()
    here = os.path.realpath(os.getcwd())
    return here if is_allowed(here, bounds) else bounds.roots[0]


def _model(routes: ModelRoutes, alias: str, label: str) -> ModelOption:
    info = routes.info(alias)
    name = routes.catalogue.resolve(alias)
    problem = ""
    try:
        name = routes.route(alias).name
    except ValueError as error:
        problem = str(error)
    return ModelOption(alias, name, label, info.context, info.images, not problem, problem)


async def _engines(services: Services) -> tuple[EngineOption, ...]:
    inside = "The agent built into this server. Another session takes 0.1 to 2 MB of memory."
    found = [EngineOption("native", "bobstay", True, "", inside, __version__, "")]
    for name, command in services.options.engines.items():
        problem = ""
        try:
            find_engine_program(command, services.environment.children.get("PATH", ""))
        except WorkerError as error:
            problem = str(error)
        label = f"{name} (a process of its own)" if name == "bobstay" else name
        version = await services.versions.of(command)
        warning = version_warning(command, version)
        found.append(EngineOption(name, label, not problem, problem, _about(name, command, version), version, warning))
    return tuple(found)


def _about(name: str, command: Sequence[str], version: str) -> str:
    what = f"The command {name} on the server's machine" + (f", version {version}" if version else "")
    memory = CLAUDE_MEMORY if is_claude(command) else "as much memory as that program takes"
    return f"{what}. Each session is a process of its own and takes {memory}."


ENDPOINTS = (Endpoint("GET", "/config", config, returns=ServerConfig),)
