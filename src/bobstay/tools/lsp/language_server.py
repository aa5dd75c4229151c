"""One running language server: its start, the documents it knows, their diagnostics, and questions about code."""

import asyncio
import os
from glob import escape as glob_escape
from glob import glob
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from bobstay.tools.lsp.diagnostic import Diagnostic, read_diagnostics
from bobstay.tools.lsp.rpc_connection import RpcConnection, ServerFailedError
from bobstay.tools.lsp.server_table import ServerSpec
from bobstay.tools.lsp.source_text import MAX_SOURCE, from_uri, read_source, split_lines, to_uri, to_utf16

START_SECONDS = 30.0
ANSWER_SECONDS = 20.0
MAX_DOCUMENTS = 50
Question: TypeAlias = Literal["definition", "references", "hover", "documentSymbol"]

_CAPABILITIES = {
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {"configuration": True, "workspaceFolders": True},
    "window": {"workDoneProgress": True},
    "textDocument": {
        "synchronization": {"didSave": True},
        "publishDiagnostics": {"versionSupport": True},
        "diagnostic": {"dynamicRegistration": False},
        "definition": {"linkSupport": True},
        "references": {},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
    },
}
_PYTHON_SECTIONS = ("python", "python.analysis", "basedpyright", "basedpyright.analysis")


class OpenDocument(Struct):
    """A file the server was given, and what it last said about it."""

    text: str
    version: int = 1
    diagnostics: tuple[Diagnostic, ...] | None = None
    """None until the server said something about this or an earlier version."""
    current: bool = False
    """The diagnostics are those of this version."""


class LanguageServer:
    """Use `start` first. A server that died stays dead; `failure` says why."""

    def __init__(self, spec: ServerSpec, project: str, environment: dict[str, str], mark: str) -> None:
        """`project` is the folder it works in; `mark` identifies its processes."""
        self.spec = spec
        self.project = project
        self.ready = False
        self.answered_late = False
        """It said nothing in time after the last edit, and nothing since."""
        self._environment = environment
        self._mark = mark
        self._connection: RpcConnection | None = None
        self._documents: dict[str, OpenDocument] = {}
        self._waiting: set[asyncio.Future[None]] = set()
        """Calls that wait for diagnostics."""
        self._pulls = False

    @property
    def failure(self) -> str:
        return self._connection.reason if self._connection is not None else ""

    @property
    def pid(self) -> int:
        return self._connection.pid if self._connection is not None else 0

    async def start(self, seconds: float = START_SECONDS) -> None:
        """Start the program and agree on the protocol.

        Raises:
            ServerFailedError: it does not start, or does not answer.
        """
        try:
            self._connection = RpcConnection(
                self.spec.command,
                cwd=self.project,
                environment=self._environment,
                mark=self._mark,
                notified=self._notified,
                asked=self._asked,
                failed=self._wake,
            )
        except OSError as error:
            raise ServerFailedError(f"it could not be started: {error.strerror or error}") from None
        folder = {"uri": to_uri(self.project), "name": os.path.basename(self.project)}
        answer = await self._connection.request(
            "initialize",
            {
                "processId": os.getpid(),
                "clientInfo": {"name": "bobstay"},
                "rootUri": folder["uri"],
                "workspaceFolders": [folder],
                "capabilities": _CAPABILITIES,
                "initializationOptions": self.spec.options,
            },
            seconds,
        )
        offered = answer.get("capabilities") if isinstance(answer, dict) else None
        self._pulls = isinstance(offered, dict) and bool(offered.get("diagnosticProvider"))
        self._connection.notify("initialized", {})
        self.ready = True

    async def close(self) -> None:
        """End the server and its descendants."""
        self.ready = False
        if self._connection is not None:
            await self._connection.close()

    async def sync(self, path: str) -> OpenDocument:
        """Give the server the content that the file has now.

        Raises:
            ServerFailedError: the file cannot be given to it.
        """
        text = await asyncio.to_thread(read_source, path)
        if text is None:
            raise ServerFailedError(f"the file is missing, or larger than {MAX_SOURCE >> 20} MiB")
        connection, document = self._require(), self._documents.pop(path, None)
        if document is None:
            document = OpenDocument(text)
            language = self.spec.languages.get(os.path.splitext(path)[1], "plaintext")
            item = {"uri": to_uri(path), "languageId": language, "version": 1, "text": text}
            connection.notify("textDocument/didOpen", {"textDocument": item})
        elif document.text != text:
            document.text, document.version, document.current = text, document.version + 1, False
            known = {"uri": to_uri(path), "version": document.version}
            connection.notify("textDocument/didChange", {"textDocument": known, "contentChanges": [{"text": text}]})
            connection.notify("textDocument/didSave", {"textDocument": {"uri": to_uri(path)}})
        self._documents[path] = document
        while len(self._documents) > MAX_DOCUMENTS:
            oldest = next(iter(self._documents))
            del self._documents[oldest]
            connection.notify("textDocument/didClose", {"textDocument": {"uri": to_uri(oldest)}})
        return document

    def known_diagnostics(self, path: str) -> tuple[Diagnostic, ...] | None:
        """What the server last said about a file; None if nothing."""
        document = self._documents.get(path)
        return document.diagnostics if document is not None else None

    async def diagnose(self, path: str, seconds: float) -> tuple[Diagnostic, ...] | None:
        """The diagnostics of the file as it is now; None if the server says nothing within `seconds`.

        Raises:
            ServerFailedError: it died, or refused.
        """
        document = await self.sync(path)
        if self._pulls and not document.current:
            version = document.version
            answer = await self._require().request(
                "textDocument/diagnostic", {"textDocument": {"uri": to_uri(path)}}, seconds
            )
            if isinstance(answer, dict) and isinstance(answer.get("items"), list) and document.version == version:
                document.diagnostics, document.current = read_diagnostics(answer["items"], document.text), True
        if not document.current:
            await self._wait_published(document, seconds)
        return document.diagnostics if document.current else None

    async def ask(self, question: Question, path: str, line: int = 0, column: int = 0) -> Any:
        """Ask about the file, or a position in it (counted from 0, in characters). The answer may have any form.

        Raises:
            ServerFailedError: it died, refused, or does not answer.
        """
        document = await self.sync(path)
        params: dict[str, Any] = {"textDocument": {"uri": to_uri(path)}}
        if question != "documentSymbol":
            lines = split_lines(document.text)
            text = lines[line] if line < len(lines) else ""
            params["position"] = {"line": line, "character": to_utf16(text, column)}
        if question == "references":
            params["context"] = {"includeDeclaration": True}
        return await self._require().request(f"textDocument/{question}", params, ANSWER_SECONDS)

    def _require(self) -> RpcConnection:
        if self._connection is None or self._connection.closed:
            raise ServerFailedError(self.failure or "it does not run")
        return self._connection

    async def _wait_published(self, document: OpenDocument, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not document.current:
                    self._require()
                    waiting = asyncio.get_running_loop().create_future()
                    self._waiting.add(waiting)
                    try:
                        await waiting
                    finally:
                        self._waiting.discard(waiting)
        except TimeoutError:
            return

    def _wake(self) -> None:
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    def _notified(self, method: str, params: Any) -> None:
        if method != "textDocument/publishDiagnostics" or not isinstance(params, dict):
            return
        document = self._documents.get(from_uri(params.get("uri")))
        version = params.get("version")
        if document is None or (isinstance(version, int) and version < document.version):
            return
        document.diagnostics = read_diagnostics(params.get("diagnostics"), document.text)
        document.current = True
        self.answered_late = False
        self._wake()

    def _asked(self, method: str, params: Any) -> Any:
        """Answer a request of the server. Raises `LookupError` for one that is not known."""
        match method:
            case "workspace/configuration":
                items = params.get("items") if isinstance(params, dict) else None
                return [self._configuration(item) for item in items[:100]] if isinstance(items, list) else []
            case "workspace/workspaceFolders":
                return [{"uri": to_uri(self.project), "name": os.path.basename(self.project)}]
            case "window/workDoneProgress/create" | "client/registerCapability" | "client/unregisterCapability":
                return None
            case _:
                raise LookupError(method)

    def _configuration(self, item: Any) -> Any:
        """The project's own packages, for servers for Python: as folders to read, not as an interpreter to run."""
        section = item.get("section") if isinstance(item, dict) else None
        if section not in _PYTHON_SECTIONS:
            return None
        found = sorted(glob(os.path.join(glob_escape(self.project), ".venv/lib/python3*/site-packages")))
        analysis = {"extraPaths": found[:1]} if found else {}
        return analysis if section.endswith(".analysis") else {"analysis": analysis}
