"""`bobstay mcp`: adds, lists and removes MCP servers, signs in to them, and offers bobstay itself as one."""

import asyncio
import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from bobstay.cli.flag_parser import UsageError
from bobstay.cli.mcp_arguments import USAGE, McpArguments, build_entry, parse_mcp_arguments
from bobstay.config.environment import Environment
from bobstay.config.mcp_files import SCOPES, ListedServer, McpFiles, McpFilesError, McpScope, printable

if TYPE_CHECKING:
    from bobstay.cli.mcp_listing import ServerRow

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}", re.ASCII)


def run(arguments: list[str]) -> int:
    """Return 0 on success, 1 on failure, 2 for an invalid command line."""
    if arguments and arguments[0] == "serve":
        from bobstay.cli.mcp_serve_command import run as serve

        return serve(arguments[1:])
    if {"--help", "-h"} & set(arguments[:2]):
        sys.stdout.write(USAGE)
        return 0
    try:
        parsed = parse_mcp_arguments(arguments)
        return _McpCommand(Environment.read()).run(parsed)
    except UsageError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except McpFilesError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130


class _McpCommand:
    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._files = McpFiles(environment.paths, os.getcwd())

    def run(self, parsed: McpArguments) -> int:
        match parsed.action:
            case "add" | "add-json":
                return self._add(parsed)
            case "remove":
                return self._remove(parsed.positional[0], parsed.scope)
            case "list":
                return self._show(self._rows(), parsed, brief=True)
            case "get":
                named = [row for row in self._rows() if row.server.name == parsed.positional[0]]
                return self._show(named, parsed, brief=False) if named else _report_missing(parsed.positional[0])
            case "login":
                return self._login(parsed)
            case _:
                return self._logout(parsed.positional[0])

    # ------------------------------------------------------------ add and remove

    def _add(self, parsed: McpArguments) -> int:
        name, entry = build_entry(parsed)
        scope = parsed.scope or "local"
        before = [server for server in self._list() if server.name == name]
        with self._preserve_trust(scope):
            self._files.add(scope, name, entry)
        sys.stdout.write(f"Added the MCP server {name} to {self._files.file_of(scope)} ({scope}).\n")
        for other in before:
            wins = SCOPES.index(other.scope) < SCOPES.index(scope)
            which = "That one is used here." if wins else "The new one is used here."
            sys.stderr.write(f"Note: {other.file} has a server of this name too ({other.scope}). {which}\n")
        return 0

    def _remove(self, name: str, scope: McpScope | None) -> int:
        found = [server for server in self._list() if server.name == name and scope in (None, server.scope)]
        own = [server for server in found if server.own]
        if not found:
            return _report_missing(name)
        if not own:
            files = " and ".join(sorted({server.file for server in found}))
            sys.stderr.write(f"{printable(name)} is in {files}, which bobstay does not change here.\n")
            return 1
        if len(own) > 1:
            scopes = ", ".join(server.scope for server in own)
            sys.stderr.write(f"There is more than one server {printable(name)} ({scopes}). Choose one with --scope.\n")
            return 1
        with self._preserve_trust(own[0].scope):
            self._files.remove(own[0].scope, name)
        sys.stdout.write(f"Removed the MCP server {printable(name)} from {own[0].file} ({own[0].scope}).\n")
        return 0

    @contextmanager
    def _preserve_trust(self, scope: McpScope) -> Generator[None, None, None]:
        """Keep the folder trusted: a change made by this command does not invalidate its trust."""
        from bobstay.config.trust import preserve_trust
        from bobstay.config.trust_store import TrustStoreError

        files = (self._files.project_file,) if scope == "project" else ()
        try:
            with preserve_trust(self._files.folder, self._environment.paths, files):
                yield
        except TrustStoreError as error:
            sys.stderr.write(f"Warning: the folder will count as changed: {error}\n")

    # ------------------------------------------------------------ list and get

    def _list(self) -> list[ListedServer]:
        servers, problems = self._files.list_servers()
        sys.stderr.write("".join(f"Warning: {problem}\n" for problem in problems))
        return servers

    def _rows(self) -> "list[ServerRow]":
        from bobstay.cli.mcp_listing import ServerRow
        from bobstay.config.trust import check_trust

        servers = self._list()
        trusted = any(server.scope == "project" for server in servers) and (
            check_trust(self._files.folder, self._environment.paths).trusted
        )
        rows: list[ServerRow] = []
        seen: dict[str, ListedServer] = {}
        for server in servers:
            first = seen.setdefault(server.name, server)
            notes = []
            if first is not server:
                notes.append(f"not used here: {first.file} has a server of this name too")
            if server.scope == "project" and not trusted:
                notes.append("not started: this folder is not trusted (see: bobstay trust)")
            rows.append(ServerRow(server, first is not server, tuple(notes)))
        return rows

    def _show(self, rows: "list[ServerRow]", parsed: McpArguments, *, brief: bool) -> int:
        from bobstay.cli.mcp_listing import as_json, as_text, describe_target

        if "--check" in parsed.switches and rows:
            rows = self._check(rows)
        if "--json" in parsed.switches:
            sys.stdout.buffer.write(msgspec.json.encode([as_json(row) for row in rows]) + b"\n")
        elif not rows:
            sys.stdout.write("No MCP servers. Add one with: bobstay mcp add NAME -- COMMAND\n")
        for row in rows if "--json" not in parsed.switches else ():
            if not brief:
                sys.stdout.write(as_text(row))
                continue
            server = row.server
            state = f"  {row.state}" if row.state else ""
            sys.stdout.write(f"{printable(server.name)}: {describe_target(server.entry)}{state}\n")
            sys.stdout.write(f"    {server.scope}: {server.file}\n")
            sys.stdout.write("".join(f"    {note}\n" for note in row.notes))
        return 0

    def _check(self, rows: "list[ServerRow]") -> "list[ServerRow]":
        """Connect to the servers that a session here would start."""
        from bobstay.config.settings_files import BrokenSettings
        from bobstay.mcp.server_check import check_servers
        from bobstay.redaction.redactor import Redactor

        names = {row.server.name for row in rows if not row.shadowed}
        try:
            found = asyncio.run(check_servers(self._environment, self._files.folder, names))
        except BrokenSettings as error:
            raise McpFilesError(str(error)) from error
        redactor = Redactor()
        states = {name: printable(redactor.redact(checked.text)) for name, checked in found.items()}
        return [row if row.shadowed else msgspec.structs.replace(row, state=states[row.server.name]) for row in rows]

    # ------------------------------------------------------------ login and logout

    def _login(self, parsed: McpArguments) -> int:
        name = parsed.positional[0]
        server = next((each for each in self._list() if each.name == name), None)
        if server is None:
            return _report_missing(name)
        url = self._address_of(server)
        from bobstay.mcp.oauth import login
        from bobstay.mcp.oauth_problem import OAuthProblem
        from bobstay.mcp.oauth_store import OAuthStore

        store = OAuthStore(self._environment.paths.bobstay)

        async def show(address: str) -> None:
            sys.stdout.write(f"Sign in at this address:\n\n{address}\n\nWaiting for your browser…\n")
            sys.stdout.flush()
            if "--no-browser" not in parsed.switches:
                import webbrowser

                await asyncio.to_thread(webbrowser.open, address)

        try:
            signed_in = asyncio.run(login(name, url, store, show, self._environment.network))
        except OAuthProblem as problem:
            sys.stderr.write(f"{problem}\n")
            return 1
        sys.stdout.write(f"Signed in to {name}.\n" if signed_in else f"{name} does not ask for a sign-in.\n")
        return 0

    def _address_of(self, server: ListedServer) -> str:
        """The address to sign in at, with its variables replaced."""
        from bobstay.config.trust import check_trust

        if server.scope == "project" and not check_trust(self._files.folder, self._environment.paths).trusted:
            raise McpFilesError(
                f"{server.file} is not trusted, so its server {printable(server.name)} is not contacted. "
                "Look at the file, then trust the folder: bobstay trust add"
            )
        url = server.entry.get("url")
        if not isinstance(url, str) or server.entry.get("type", "http") not in ("http", "sse"):
            raise McpFilesError(
                f"{printable(server.name)} is not a server with a URL, so there is nothing to sign in to."
            )
        variables = self._environment.children
        return _VARIABLE.sub(lambda found: variables.get(found[1], found[2] if found[2] is not None else found[0]), url)

    def _logout(self, name: str) -> int:
        from bobstay.mcp.oauth import logout
        from bobstay.mcp.oauth_store import OAuthStore, OAuthStoreError

        try:
            store = OAuthStore(self._environment.paths.bobstay)
            removed = asyncio.run(logout(name, store, self._environment.network))
        except OAuthStoreError as error:
            raise McpFilesError(str(error)) from error
        shown = printable(name)
        sys.stdout.write(f"Signed out of {shown}.\n" if removed else f"No sign-in of {shown} is stored.\n")
        return 0 if removed else 1


def _report_missing(name: str) -> int:
    sys.stderr.write(f"There is no MCP server {printable(name)} here. `bobstay mcp list` shows those there are.\n")
    return 1
