"""Resolves the command of a terminal: the user's shell, or an external engine that resumes a session."""

import os
from collections.abc import Mapping, Sequence

from bobstay.model.ids import is_uuid
from bobstay.server.errors import ApiError
from bobstay.server.workers.worker import WorkerError
from bobstay.system.child_process import find_program

SHELLS = ("/bin/bash", "/bin/zsh", "/bin/sh")


def resume_command(engines: Mapping[str, Sequence[str]], engine: str, engine_session: str) -> tuple[str, ...]:
    """The command that resumes one of the engine's own sessions in a terminal.

    Raises:
        ApiError: not_supported, wrong_state.
    """
    command = engines.get(engine)
    if not command:
        raise ApiError("not_supported", f"Sessions of the engine {engine[:40]!r} cannot be opened in a terminal.")
    if not is_uuid(engine_session):
        raise ApiError("wrong_state", "The engine has not reported its id of this session yet. Send a message first.")
    return (*command, "--resume", engine_session)


def resolve_command(command: Sequence[str], cwd: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """`command` with the path of its program; the user's shell if it is empty.

    Raises:
        WorkerError: the program or the directory does not exist.
    """
    if not os.path.isdir(cwd):
        raise WorkerError(f"The directory {cwd} no longer exists.")
    if not command:
        shell = environment.get("SHELL", "")
        usable = [path for path in (shell, *SHELLS) if path.startswith("/") and os.access(path, os.X_OK)]
        if not usable:
            raise WorkerError("No shell was found on this machine.")
        return (usable[0],)
    program = command[0]
    found = program if program.startswith("/") else find_program(program, environment.get("PATH", ""))
    if not found or not os.access(found, os.X_OK):
        raise WorkerError(f"The program {program} was not found. Install it, or name its path in the settings.")
    return (found, *command[1:])
