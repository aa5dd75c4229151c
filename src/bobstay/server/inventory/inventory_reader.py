"""Reads the inventory of a session's engine, or of a new one, from files and reports, without starting anything."""

import asyncio
import os
import stat
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from msgspec.structs import replace

from bobstay.config.environment import Environment
from bobstay.config.settings_files import BrokenSettings, LoadedSettings, load
from bobstay.config.trust import check_trust
from bobstay.context.git_status import current_branch, find_repository
from bobstay.context.instruction_reader import Instruction
from bobstay.context.instructions import InstructionFiles, InstructionScope
from bobstay.mcp.mcp_servers import McpServers
from bobstay.permissions.access import Effect
from bobstay.permissions.policy import Policy
from bobstay.permissions.rule import BEHAVIORS, Rule
from bobstay.permissions.sandbox.availability import available
from bobstay.redaction.redactor import Redactor
from bobstay.server.db.database import Database
from bobstay.server.errors import ApiError
from bobstay.server.files.session_directory import AllowedRoots, open_session_directory
from bobstay.server.inventory.capabilities import NATIVE, capabilities
from bobstay.server.inventory.command_files import CommandFolder
from bobstay.server.inventory.engine_report import EngineReport, latest_report
from bobstay.server.inventory.inventory_types import EngineInventory, InstructionFile, Level, McpServer, SandboxState
from bobstay.server.inventory.native_extensions import NativeExtensions, read_extensions
from bobstay.server.inventory.native_servers import (
    configured_server,
    connections_of,
    live_server,
    prompt_commands,
)
from bobstay.server.inventory.settings_inventory import files_of, hooks_of, servers_of, servers_of_session
from bobstay.server.root_directories import RootDirectories
from bobstay.server.session_secrets import SessionSecrets
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.workers.process.engine_trust import folder_trust
from bobstay.server.workers.worker import WorkerError
from bobstay.server.workflows import denied_tools
from bobstay.tools.tool_registry import ToolRegistry as Tools

FLUSH_TIMEOUT = 2.0
OWN = frozenset({NATIVE, "bobstay"})
"""Engines that use bobstay's settings."""
_EXTERNAL_INSTRUCTIONS = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")


class InventoryReader:
    def __init__(
        self,
        database: Database,
        environment: Environment,
        engines: Mapping[str, tuple[str, ...]],
        roots: RootDirectories,
        secrets: SessionSecrets,
    ) -> None:
        self._database = database
        self._environment = environment
        self._engines = engines
        """Commands of external engines by name."""
        self._roots = roots
        self._secrets = secrets

    async def read(self, view: SessionView, live: McpServers | None = None) -> EngineInventory:
        """The inventory of a session, or of one that would start like `view`.

        `live` are the MCP servers that its running agent holds.
        """
        report = None
        if view.seq and view.config.engine != NATIVE:
            await self._database.wait_until_indexed(view.id, view.seq, FLUSH_TIMEOUT)
            report = await latest_report(self._database, view.id)
        found = await asyncio.to_thread(
            self._own_inventory if view.config.engine in OWN else self._external_inventory, view
        )
        if report is not None:
            found = _merge_report(found, report)
        if live is not None:
            found = self._with_live_servers(found, live)
        names = frozenset(command.name for command in found.commands)
        found = replace(found, capabilities=capabilities(view, names))
        redacted: EngineInventory = Redactor(self._environment.secrets).redact_value(found)
        return redacted

    def _own_inventory(self, view: SessionView) -> EngineInventory:
        """The inventory of an engine that uses bobstay's settings."""
        paths, problems = self._environment.paths, list[str]()
        loaded = self._loaded(view.cwd, problems)
        trusted = loaded.trusted if loaded is not None else check_trust(view.cwd, paths).trusted
        files = files_of(view.cwd, paths, [], external=False)
        extensions = self.extensions(view, loaded) if loaded is not None else NativeExtensions()
        problems += extensions.problems
        return EngineInventory(
            engine=view.config.engine,
            cwd=view.cwd,
            branch=_branch(view.cwd),
            origin="settings",
            at=None,
            version="",
            trusted=trusted,
            notice=loaded.untrusted_notice if loaded is not None else "",
            tools=self._tools(loaded, view, problems),
            commands=extensions.commands,
            mcp_servers=tuple(
                configured_server(config, paths, cwd=view.cwd, trusted=trusted) for config in extensions.servers
            ),
            hooks=hooks_of(files, problems, trusted=trusted),
            skills=extensions.skills,
            agents=extensions.agents,
            instructions=self._instructions(view.cwd, loaded, trusted=trusted),
            sandbox=self._sandbox(loaded, view.cwd),
            capabilities=capabilities(view),
            problems=tuple(problems[:50]),
        )

    def extensions(self, view: SessionView, loaded: LoadedSettings) -> NativeExtensions:
        """What a session of bobstay's own engine finds when it starts now. Reads files: call it in a thread."""
        given = self._secrets.mcp_json(view.id) if view.id else ""
        return read_extensions(view.cwd, self._environment, loaded, given)

    def _with_live_servers(self, found: EngineInventory, live: McpServers) -> EngineInventory:
        paths = self._environment.paths
        servers = (
            live_server(connection, paths, cwd=found.cwd, trusted=found.trusted) for connection in connections_of(live)
        )
        return replace(found, mcp_servers=tuple(servers), commands=(*found.commands, *prompt_commands(live)))

    def _external_inventory(self, view: SessionView) -> EngineInventory:
        """The inventory of an external engine from the files it would read, without those of an untrusted directory."""
        paths, problems = self._environment.paths, list[str]()
        trusted, notice = self._trust(view)
        files = files_of(view.cwd, paths, problems, external=True)
        servers = (*servers_of_session(view.config.mcp_servers, "configured"),)
        known = {server.name for server in servers}
        named = [
            server if server.trusted else replace(server, state="not_used")
            for server in servers_of(files, view.cwd, "configured", trusted=trusted)
        ]
        with ExitStack() as stack:
            folders = self._command_folders(stack, view.cwd, trusted=trusted)
            commands = tuple(entry for folder in folders for entry in folder.commands())
            skills = tuple(entry for folder in folders for entry in folder.skills())
            agents = tuple(entry for folder in folders for entry in folder.agents())
        return EngineInventory(
            engine=view.config.engine,
            cwd=view.cwd,
            branch=_branch(view.cwd),
            origin="files",
            at=None,
            version="",
            trusted=trusted,
            notice=notice,
            tools=(),
            commands=commands,
            mcp_servers=(*servers, *(server for server in named if server.name not in known)),
            hooks=hooks_of(files, problems, trusted=trusted),
            skills=skills,
            agents=agents,
            instructions=_external_instructions(view.cwd, paths.claude, trusted=trusted),
            sandbox=SandboxState(False, "", ""),
            capabilities=capabilities(view),
            problems=tuple(problems[:50]),
        )

    def _trust(self, view: SessionView) -> tuple[bool, str]:
        """Whether the directory is trusted, and a notice about what is disabled if it is not."""
        command = self._engines.get(view.config.engine, (view.config.engine,))
        try:
            found = folder_trust(command, view.cwd, self._environment.paths)
        except WorkerError as error:
            return False, str(error)
        return found.trusted, found.notice

    def _loaded(self, cwd: str, problems: list[str]) -> LoadedSettings | None:
        try:
            return load(cwd, self._environment.paths)
        except BrokenSettings as error:
            problems.append(f"{error} No session starts here until that is fixed."[:500])
            return None

    def _tools(self, loaded: LoadedSettings | None, view: SessionView, problems: list[str]) -> tuple[str, ...]:
        rules: list[Rule] = []
        texts = [(rule.text, BEHAVIORS[rule.behavior], rule.source) for rule in (loaded.rules if loaded else ())]
        texts += [(text, Effect.DENY, "cli") for text in denied_tools(view.config)]
        for text, verdict, source in texts:
            try:
                rules.append(Rule.parse(text, verdict, source))
            except ValueError as error:
                problems.append(f"Invalid rule: {error}"[:500])
        policy = Policy("default", rules, root=view.cwd, home=self._environment.paths.home)
        searches = bool(self._environment.search or (loaded and loaded.settings.search))
        needs: set[Any] = {"person", "search"} if searches else {"person"}
        return Tools.load(available=needs, removed=policy.denied_tools(), entry_points=False).names

    def _sandbox(self, loaded: LoadedSettings | None, cwd: str) -> SandboxState:
        wanted = loaded.settings.sandbox if loaded is not None else None
        if wanted is None or not wanted.enabled:
            return SandboxState(False, "", "")
        path = self._environment.children.get("PATH", "")
        found = available(path, cwd, unverified=bool(wanted.allow_unverified))
        problem = "" if found.kind else "; ".join(f"{name}: {why}" for name, why in found.found if why)
        return SandboxState(True, found.kind, problem[:500])

    def _instructions(self, cwd: str, loaded: LoadedSettings | None, *, trusted: bool) -> tuple[InstructionFile, ...]:
        paths = self._environment.paths
        repository = find_repository(cwd)
        scope = InstructionScope(
            cwd=cwd,
            top=os.path.dirname(repository) if repository else cwd,
            home=paths.home,
            own=(paths.bobstay, paths.claude),
            trusted=trusted,
            excludes=loaded.settings.claude_md_excludes if loaded is not None else (),
        )
        found = InstructionFiles(scope).find()
        return (
            *(InstructionFile(each.path, _size(each), "user", True) for each in found.own),
            *(InstructionFile(each.path, _size(each), "project", trusted) for each in found.project),
        )

    def _command_folders(self, stack: ExitStack, cwd: str, *, trusted: bool) -> list[CommandFolder]:
        """Command folders, the project's first, so that it wins when two entries have the same name."""
        found: list[CommandFolder] = []
        home = os.path.realpath(self._environment.paths.claude)
        for directory, folder, level, trust, bounds in (
            (cwd, ".claude", "project", trusted, self._roots.allowed()),
            (home, "", "user", True, AllowedRoots((home,))),
        ):
            if not trust:
                continue  # the engine does not load them
            try:
                opened = stack.enter_context(open_session_directory(directory, bounds))
            except ApiError:
                continue
            found.append(CommandFolder(opened, folder, "project" if level == "project" else "user", trust))
        return found


def _branch(cwd: str) -> str:
    repository = find_repository(cwd)
    return current_branch(repository) if repository else ""


def _merge_report(found: EngineInventory, report: EngineReport) -> EngineInventory:
    """The engine's report, with sources and descriptions that it lacks from the files."""
    return replace(
        found,
        origin="engine",
        at=report.at,
        version=report.version,
        tools=report.tools,
        commands=_with_sources(report.commands, found.commands),
        mcp_servers=tuple(_with_state(server, found.mcp_servers) for server in report.mcp_servers),
        skills=_with_sources(report.skills, found.skills),
        agents=_with_sources(report.agents, found.agents),
    )


def _with_sources(report: tuple[Any, ...], found: tuple[Any, ...]) -> tuple[Any, ...]:
    known = {entry.name: entry for entry in found}
    return tuple(
        replace(known[entry.name], description=entry.description or known[entry.name].description)
        if entry.name in known
        else entry
        for entry in report
    )


def _with_state(report: McpServer, found: tuple[McpServer, ...]) -> McpServer:
    known = next((server for server in found if server.name == report.name), None)
    return report if known is None else replace(known, state=report.state)


def _external_instructions(cwd: str, home: str, *, trusted: bool) -> tuple[InstructionFile, ...]:
    repository = find_repository(cwd)
    top, folder = os.path.dirname(repository) if repository else cwd, cwd
    folders = [folder]
    while folder != top and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
        folders.append(folder)
    found = [_instruction(f"{home}/CLAUDE.md", "user", trusted=True)]
    for directory in reversed(folders):
        found += [_instruction(f"{directory}/{name}", "project", trusted=trusted) for name in _EXTERNAL_INSTRUCTIONS]
    return tuple(filter(None, found))


def _instruction(path: str, level: Level, *, trusted: bool) -> InstructionFile | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return InstructionFile(path, found.st_size, level, trusted) if stat.S_ISREG(found.st_mode) else None


def _size(instruction: Instruction) -> int:
    try:
        return os.path.getsize(instruction.path)
    except OSError:
        return len(instruction.text.encode("utf-8", "replace"))
