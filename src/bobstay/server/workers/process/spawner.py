"""Spawner: starts the processes of one worker with command line, environment and files from its session."""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

from msgspec import Struct

from bobstay.config.environment import Environment
from bobstay.config.git_hardening import harden_environment
from bobstay.config.secret_variables import secret_values
from bobstay.model.event import InputQueued
from bobstay.model.message import text_of
from bobstay.redaction.redactor import Redactor
from bobstay.server.capacity import Capacity
from bobstay.server.inbox import Inbox
from bobstay.server.session_secrets import server_secrets
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.workers.process.engine_command_line import (
    EngineConversation,
    EngineLaunch,
    live_arguments,
    one_shot_arguments,
    starting_mode,
    write_mcp_config,
)
from bobstay.server.workers.process.engine_environment import engine_environment
from bobstay.server.workers.process.engine_process import (
    EngineProcess,
    ShutdownTimeouts,
    check_directory,
    find_engine_program,
)
from bobstay.server.workers.process.engine_trust import FolderTrust, folder_trust, is_bobstay, is_claude, is_trusted
from bobstay.server.workers.terminal_transcript import import_terminal_turns, was_in_terminal
from bobstay.server.workers.worker import WorkerError
from bobstay.server.workflows import permission_mode
from bobstay.system.watchdog import mark_of_this_process


class ProcessServices(Struct, frozen=True):
    """Services and settings that all process workers of a server share."""

    environment: Environment
    inbox: Inbox
    capacity: Capacity
    temporary: str
    """A private directory for files that hold secrets."""
    pass_keys: bool = True
    """Engines get the keys of model providers; without them they use their own login."""
    questions: Literal["permission", "hook"] = "permission"
    """How an engine asks questions: by permission requests, or by a hook before the tool runs."""
    timeouts: ShutdownTimeouts = ShutdownTimeouts()


class WorkerFiles(Struct, frozen=True):
    """The variables and MCP configuration of one session. They may be secret."""

    variables: dict[str, str] = {}
    mcp_config: dict[str, Any] = {}

    def secrets(self) -> dict[str, str]:
        return secret_values(self.variables) | server_secrets(self.mcp_config)


NOTHING = WorkerFiles()


class Spawner:
    def __init__(
        self, command: tuple[str, ...], session: OpenSession, parts: ProcessServices, own: WorkerFiles
    ) -> None:
        self.command = command
        self._session = session
        self._parts = parts
        self._own = own
        self._mcp_file = ""
        self._started_at = 0.0
        self.mode = ""
        """The permission mode of the last process."""
        self.trust = FolderTrust()
        """The trust in the folder when the last process was started."""

    def check(self) -> str:
        """The path of the program.

        Raises:
            WorkerError: it cannot be run in the session's directory.
        """
        check_directory(self._session.view.cwd)
        return find_engine_program(self.command, self._parts.environment.children.get("PATH", ""))

    async def prepare(self) -> None:
        """Check the trust in the folder, and import turns from terminals.

        Raises:
            WorkerError: it cannot be run there, or the folder is not trusted and the engine cannot ignore its files.
            LogError: the log cannot be written.
        """
        self.check()
        paths, cwd = self._parts.environment.paths, self._session.view.cwd
        self.trust = await asyncio.to_thread(folder_trust, self.command, cwd, paths)
        await import_terminal_turns(
            self._session, paths, Redactor(self._parts.environment.secrets | self._own.secrets())
        )
        self._started_at = time.time()

    def is_outdated(self) -> bool:
        """Whether the trust in the folder has changed since the last start, or a terminal resumed the conversation.

        It reads files.
        """
        if was_in_terminal(self._session.view, self._started_at):
            return True
        return is_trusted(self._session.view.cwd, self._parts.environment.paths) != self.trust.trusted

    def start(
        self,
        conversation: EngineConversation,
        epoch: int,
        receive: Callable[[int, bytes], None],
        queued: InputQueued | None,
    ) -> EngineProcess:
        """Start a live process, or one for `queued` only.

        Raises:
            WorkerError: it cannot be started.
        """
        program = self.check()
        view = self._session.view
        self.mode = self._mode()
        launch = EngineLaunch(
            view.config, conversation, self.mode, self._mcp(), (*self.trust.arguments, *self._hook_arguments())
        )
        arguments = live_arguments(launch) if queued is None else one_shot_arguments(launch, text_of(queued.blocks))
        mark = f"{mark_of_this_process()}:{self._session.id}:{epoch}"
        environment = engine_environment(
            self._parts.environment,
            self.command,
            self._session.id,
            mark,
            self._own.variables,
            pass_keys=self._parts.pass_keys,
        )
        return EngineProcess(
            (program, *self.command[1:], *arguments),
            cwd=view.cwd,
            environment=environment if self.trust.trusted else harden_environment(environment, view.cwd),
            mark=mark,
            receive=receive,
            live=queued is None,
        )

    def _hook_arguments(self) -> tuple[str, ...]:
        """Arguments that make engines report their hooks, so that the log has them."""
        streams = self._session.view.config.output_format == "stream-json"
        return ("--include-hook-events",) if streams and (is_claude(self.command) or is_bobstay(self.command)) else ()

    def clear(self) -> None:
        if self._mcp_file:
            with suppress(OSError):
                os.unlink(self._mcp_file)
            self._mcp_file = ""

    def _mode(self) -> str:
        view = self._session.view
        begun = view.permission_mode if view.turns else permission_mode(view.config)
        return starting_mode(view.config, begun, time.time())

    def _mcp(self) -> str:
        config = self._own.mcp_config
        if config and not self._mcp_file:
            try:
                self._mcp_file = write_mcp_config(config, self._parts.temporary)
            except OSError as error:
                text = f"The file for MCP servers cannot be written in {self._parts.temporary}: {error.strerror}."
                raise WorkerError(text) from error
        return self._mcp_file
