"""The language servers of a session: one a language and project, started on first use, ended with the session."""

import asyncio
import os
from pathlib import Path

from bobstay.config.trust import filter_search_path
from bobstay.tools.lsp.diagnostic import Diagnostic, new_errors
from bobstay.tools.lsp.language_server import START_SECONDS, LanguageServer
from bobstay.tools.lsp.rpc_connection import ServerFailedError
from bobstay.tools.lsp.server_table import ServerSpec
from bobstay.tools.tool_error import ToolError

EDIT_SECONDS = 1.0
"""How long an edit waits for diagnostics, all its files together."""
MAX_SERVERS = 8
MAX_DEATHS = 3
_SHOWN = 10
_PYTHON_FOLDERS = frozenset({"VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME", "PYTHONPATH", "NODE_PATH"})
"""Variables that lead servers to programs and modules."""


class LanguageServers:
    """Servers by their name and project."""

    def __init__(
        self,
        specs: dict[str, ServerSpec],
        environment: dict[str, str],
        session_id: str,
        *,
        diagnose_edits: bool = True,
        edit_seconds: float = EDIT_SECONDS,
        start_seconds: float = START_SECONDS,
    ) -> None:
        """`specs`: the servers this machine has, by file name ending."""
        self._specs = specs
        self._environment = environment
        self._session_id = session_id
        self._diagnose_edits = diagnose_edits
        self._edit_seconds = edit_seconds
        self._start_seconds = start_seconds
        self._servers: dict[tuple[str, str], LanguageServer] = {}
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}
        self._deaths: dict[tuple[str, str], int] = {}
        self._started = 0

    @property
    def running(self) -> tuple[LanguageServer, ...]:
        return tuple(server for server in self._servers.values() if server.ready and not server.failure)

    def spec_for(self, path: str) -> ServerSpec:
        """The server for a file.

        Raises:
            ToolError: there is none for its ending; names those that there are.
        """
        spec = self._specs.get(os.path.splitext(path)[1])
        if spec is None:
            raise ToolError(
                f"No language server for {os.path.basename(path)} was found on this machine. "
                f"There are servers for {', '.join(sorted(self._specs))}."
            )
        return spec

    def is_running(self, path: str, directories: tuple[Path, ...]) -> bool:
        spec = self.spec_for(path)
        server = self._servers.get((spec.name, _project(path, spec, directories)))
        return server is not None and server.ready and not server.failure

    async def server_for(self, path: str, directories: tuple[Path, ...]) -> LanguageServer:
        """The running server for a file, which is started if need be, and again if it died.

        Raises:
            ToolError: it does not start, or died too often.
        """
        spec = self.spec_for(path)
        key = (spec.name, _project(path, spec, directories))
        async with self._locks.setdefault(key, asyncio.Lock()):
            present = self._servers.pop(key, None)
            if present is not None and not present.failure:
                self._servers[key] = present  # the last one is the one used last
                return present
            if present is not None:
                await self._bury(key, present)
            return await self._start(key, spec, directories)

    async def errors_after_edit(self, paths: tuple[str, ...]) -> str:
        """The new errors of files that were just written, for those with a running server; "" if there are none.

        Takes a second at most. A server that said nothing last time is not waited for until it says something.
        """
        if not self._diagnose_edits:
            return ""
        asked = [(path, server) for path in paths if (server := self._watching(path)) is not None]
        if not asked:
            return ""
        deadline = asyncio.get_running_loop().time() + self._edit_seconds
        notes: list[str] = []
        for path, server in asked:
            left = deadline - asyncio.get_running_loop().time()
            note = await _errors_of(path, server, max(left, 0.0))
            if note:
                notes.append(note)
        return "\n".join(notes)

    async def close(self) -> None:
        """End all servers with everything they started."""
        servers, self._servers = list(self._servers.values()), {}
        await asyncio.gather(*(server.close() for server in servers))

    def _watching(self, path: str) -> LanguageServer | None:
        spec = self._specs.get(os.path.splitext(path)[1])
        if spec is None:
            return None
        candidates = [
            server for server in self.running if server.spec.name == spec.name and _inside(path, server.project)
        ]
        return max(candidates, key=lambda server: len(server.project), default=None)

    async def _start(self, key: tuple[str, str], spec: ServerSpec, directories: tuple[Path, ...]) -> LanguageServer:
        if self._deaths.get(key, 0) >= MAX_DEATHS:
            raise ToolError(
                f"The language server {spec.name} ended {MAX_DEATHS} times and is not started again in this session. "
                "Go on without it."
            )
        while len(self._servers) >= MAX_SERVERS:
            oldest = next(iter(self._servers))
            await self._servers.pop(oldest).close()
        self._started += 1
        environment = self._environment
        if not spec.runs_project:
            environment = _without_project(environment, (key[1], *map(str, directories)))
        server = LanguageServer(spec, key[1], environment, f"{self._session_id}:lsp{self._started}")
        try:
            await server.start(self._start_seconds)
        except ServerFailedError as error:
            await self._bury(key, server)
            raise ToolError(
                f"The language server {spec.name} cannot be used: {error}. Its program is {spec.command[0]}."
            ) from None
        except BaseException:
            await server.close()
            raise
        self._servers[key] = server
        return server

    async def _bury(self, key: tuple[str, str], server: LanguageServer) -> None:
        """End what a dead server left, and count it."""
        self._deaths[key] = self._deaths.get(key, 0) + 1
        await server.close()


async def _errors_of(path: str, server: LanguageServer, seconds: float) -> str:
    before = server.known_diagnostics(path)
    try:
        if server.answered_late or seconds <= 0:
            await server.sync(path)
            return ""
        async with asyncio.timeout(seconds):
            now = await server.diagnose(path, seconds)
    except TimeoutError:
        now = None
    except ServerFailedError:
        return ""  # the edit was made all the same; who asks the server next is told
    if now is None:
        server.answered_late = True
        return ""
    errors = [each for each in now if each.is_error] if before is None else new_errors(before, now)
    return _describe(path, server.spec.name, errors, known=before is not None)


def _describe(path: str, server: str, errors: list[Diagnostic], *, known: bool) -> str:
    if not errors:
        return ""
    what = "finds new errors" if known else "finds errors, new or not,"
    more = f"\n... and {len(errors) - _SHOWN} more" if len(errors) > _SHOWN else ""
    listed = "\n".join(f"{path}:{each.describe()}" for each in errors[:_SHOWN])
    return f"The language server {server} {what} in the file:\n{listed}{more}"


def _without_project(environment: dict[str, str], folders: tuple[str, ...]) -> dict[str, str]:
    """The variables for a server whose start nobody was asked about: it finds no programs in the project.

    Servers for Python run the interpreter they find, and what lies in the project may have been written by the model.
    """
    real = tuple(os.path.realpath(folder) for folder in folders)
    kept = {
        name: value
        for name, value in environment.items()
        if name not in _PYTHON_FOLDERS or not any(_inside(os.path.realpath(value), folder) for folder in real)
    }
    return {**kept, "PATH": filter_search_path(environment.get("PATH", ""), *real)}


def _project(path: str, spec: ServerSpec, directories: tuple[Path, ...]) -> str:
    """The nearest folder above the file with a project's file in it, else the working directory it is in."""
    tops = [os.path.realpath(each) for each in directories if _inside(path, os.path.realpath(each))]
    if not tops:
        return os.path.dirname(path)
    top = max(tops, key=len)
    folder = os.path.dirname(path)
    while _inside(folder, top):
        if any(os.path.lexists(os.path.join(folder, marker)) for marker in spec.markers):
            return folder
        if folder == top:
            break
        folder = os.path.dirname(folder)
    return top


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
