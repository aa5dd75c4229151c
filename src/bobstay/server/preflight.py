"""Checks that a session could start before one is created: its permission mode, engine, model and key."""

import asyncio
from collections.abc import Mapping

from bobstay.assembly.build_session import StartError, check_start
from bobstay.config.environment import Environment
from bobstay.config.options import Options
from bobstay.model.session_events import SessionConfig
from bobstay.permissions.mode import MODES
from bobstay.providers.provider_registry import MissingKey
from bobstay.server.errors import ApiError
from bobstay.server.workers.process.engine_process import find_engine_program
from bobstay.server.workers.process.engine_trust import folder_trust
from bobstay.server.workers.worker import WorkerError


class Preflight:
    def __init__(self, engines: Mapping[str, tuple[str, ...]], environment: Environment) -> None:
        self._engines = engines
        """Commands of external engines by name."""
        self._environment = environment

    async def check(self, cwd: str, config: SessionConfig, *, runs: bool) -> None:
        """Check that a session can start, before anything is created. `runs`: it has a prompt and starts at once.

        Raises:
            ApiError: invalid or cannot_start, with the `field` of the request that is to blame.
        """
        check_mode(config.permission_mode)
        self.check_engine(config.engine)
        check_output(config)
        if config.engine != "native":
            if runs:
                await asyncio.to_thread(self._check_command, cwd, config.engine)
        elif runs or config.model:
            await self._check_model(cwd, config.model)

    def check_engine(self, engine: str) -> None:
        if engine != "native" and engine not in self._engines:
            known = ", ".join(("native", *self._engines))
            raise ApiError("invalid", f"There is no engine {engine!r}. This server has: {known}.", field="engine")

    def _check_command(self, cwd: str, engine: str) -> None:
        command = self._engines[engine]
        try:
            find_engine_program(command, self._environment.children.get("PATH", ""))
            folder_trust(command, cwd, self._environment.paths)
        except WorkerError as error:
            raise ApiError("cannot_start", str(error), field="engine") from error

    async def _check_model(self, cwd: str, model: str) -> None:
        try:
            await check_start(Options(cwd=cwd, model=model or None), self._environment)
        except StartError as error:
            missing = _missing_key(error)
            if missing is None:
                raise ApiError("cannot_start", str(error), field="model") from error
            what = f"The model {model!r} needs a key for {missing.provider}" if model else "No model is connected"
            text = f"{what}. Add a key in Settings, Models, or choose the model demo, which needs none."
            raise ApiError("cannot_start", text, field="model", missing_key=missing.provider) from error


def check_mode(mode: str) -> None:
    if mode and mode not in MODES:
        text = f"There is no permission mode {mode[:80]!r}: {', '.join(MODES)}."
        raise ApiError("invalid", text, field="permission_mode")


def check_output(config: SessionConfig) -> None:
    if config.engine == "native" and not config.live:
        text = "Only an external engine can be started once per prompt: the engine `native` is part of this server."
        raise ApiError("invalid", text, field="live")
    if config.live and config.output_format != "stream-json":
        text = f"A live engine writes stream-json. For {config.output_format}, set `live` to false."
        raise ApiError("invalid", text, field="output_format")


def _missing_key(error: BaseException) -> MissingKey | None:
    found: BaseException | None = error
    while found is not None and not isinstance(found, MissingKey):
        found = found.__cause__
    return found
