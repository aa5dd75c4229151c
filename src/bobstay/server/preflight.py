"""Checks that a session could start before one is created: its permission mode, engine, model and key."""

import asyncio

from bobstay.assembly.build_session import StartError, check_start
from bobstay.config.options import Options
from bobstay.model.session_events import SessionConfig
from bobstay.permissions.mode import MODES
from bobstay.providers.provider_registry import MissingKey
from bobstay.server.console import Console
from bobstay.server.errors import ApiError
from bobstay.server.workers.process.engine_process import find_engine_program
from bobstay.server.workers.process.engine_trust import folder_trust
from bobstay.server.workers.worker import WorkerError


async def check_startable(console: Console, cwd: str, config: SessionConfig, *, runs: bool) -> None:
    """Check that a session can start, before anything is created. `runs`: it has a prompt and starts at once.

    Raises:
        ApiError: invalid or cannot_start, with the `field` of the request that is to blame.
    """
    check_mode(config.permission_mode)
    check_engine(console, config.engine)
    check_output(config)
    if config.engine != "native":
        if runs:
            await asyncio.to_thread(_check_command, console, cwd, config.engine)
    elif runs or config.model:
        await _check_model(console, cwd, config.model)


def check_mode(mode: str) -> None:
    if mode and mode not in MODES:
        text = f"There is no permission mode {mode[:80]!r}: {', '.join(MODES)}."
        raise ApiError("invalid", text, field="permission_mode")


def check_engine(console: Console, engine: str) -> None:
    if engine != "native" and engine not in console.config.engines:
        known = ", ".join(("native", *console.config.engines))
        raise ApiError("invalid", f"There is no engine {engine!r}. This server has: {known}.", field="engine")


def check_output(config: SessionConfig) -> None:
    if config.engine == "native" and not config.live:
        text = "Only an external engine can be started once per prompt: the engine `native` is part of this server."
        raise ApiError("invalid", text, field="live")
    if config.live and config.output_format != "stream-json":
        text = f"A live engine writes stream-json. For {config.output_format}, set `live` to false."
        raise ApiError("invalid", text, field="output_format")


def _check_command(console: Console, cwd: str, engine: str) -> None:
    command = console.config.engines[engine]
    try:
        find_engine_program(command, console.environment.children.get("PATH", ""))
        folder_trust(command, cwd, console.environment.paths)
    except WorkerError as error:
        raise ApiError("cannot_start", str(error), field="engine") from error


async def _check_model(console: Console, cwd: str, model: str) -> None:
    try:
        await check_start(Options(cwd=cwd, model=model or None), console.environment)
    except StartError as error:
        missing = _missing_key(error)
        if missing is None:
            raise ApiError("cannot_start", str(error), field="model") from error
        what = f"The model {model!r} needs a key for {missing.provider}" if model else "No model is connected"
        text = f"{what}. Add a key in Settings, Models, or choose the model demo, which needs none."
        raise ApiError("cannot_start", text, field="model", missing_key=missing.provider) from error


def _missing_key(error: BaseException) -> MissingKey | None:
    found: BaseException | None = error
    while found is not None and not isinstance(found, MissingKey):
        found = found.__cause__
    return found
