"""Gathers the inventory of a session's engine, or of a new one, from files and reports, without starting anything."""

import asyncio
import os
import stat
from contextlib import ExitStack
from typing import Any

from msgspec.structs import replace

from bobstay.config.settings_files import BrokenSettings, LoadedSettings, load
from bobstay.config.trust import check_trust
from bobstay.context.git_status import current_branch, find_repository
from bobstay.context.instructions import Instruction, project_instructions, user_instructions
from bobstay.permissions.access import Effect
from bobstay.permissions.policy import Policy
from bobstay.permissions.rule import BEHAVIORS, Rule
from bobstay.permissions.sandbox.availability import available
from bobstay.redaction.redactor import Redactor
from bobstay.server.console import Console
from bobstay.server.errors import ApiError
from bobstay.server.files.session_directory import AllowedRoots, allowed_roots, open_session_directory
from bobstay.server.inventory.capabilities import NATIVE, capabilities
from bobstay.server.inventory.command_files import CommandFolder
from bobstay.server.inventory.engine_report import EngineReport, latest_report
from bobstay.server.inventory.inventory_types import EngineInventory, InstructionFile, Level, McpServer, SandboxState
from bobstay.server.inventory.settings_inventory import files_of, hooks_of, servers_of, servers_of_session
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.workers.process.engine_trust import folder_trust
from bobstay.server.workers.worker import WorkerError
from bobstay.server.workflows import denied_tools
from bobstay.tools.tool_registry import ToolRegistry as Tools

FLUSH_TIMEOUT = 2.0
OWN = frozenset({NATIVE, "bobstay"})
"""Engines that use bobstay's settings."""
_EXTERNAL_INSTRUCTIONS = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")


async def gather(console: Console, view: SessionView) -> EngineInventory:
    """The inventory of a session, or of one that would start like `view`."""
    report = None
    if view.seq and view.config.engine != NATIVE:
        await console.database.wait_until_indexed(view.id, view.seq, FLUSH_TIMEOUT)
        report = await latest_report(console.database, view.id)
    found = await asyncio.to_thread(_own_inventory if view.config.engine in OWN else _external_inventory, console, view)
    if report is not None:
        found = _merge_report(found, report)
    names = frozenset(command.name for command in found.commands)
    found = replace(found, capabilities=capabilities(view, names))
    redacted: EngineInventory = Redactor(console.environment.secrets).redact_value(found)
    return redacted


def _own_inventory(console: Console, view: SessionView) -> EngineInventory:
    """The inventory of an engine that uses bobstay's settings."""
    paths, problems = console.environment.paths, list[str]()
    loaded = _loaded(view.cwd, console, problems)
    trusted = loaded.trusted if loaded is not None else check_trust(view.cwd, paths).trusted
    files = files_of(view.cwd, paths, [], external=False)
    return EngineInventory(
        engine=view.config.engine,
        cwd=view.cwd,
        branch=_branch(view.cwd),
        origin="settings",
        at=None,
        version="",
        trusted=trusted,
        notice=loaded.untrusted_notice if loaded is not None else "",
        tools=_tools(loaded, view, console, problems),
        commands=(),
        mcp_servers=servers_of(files, view.cwd, "not_used", trusted=trusted),
        hooks=hooks_of(files, problems, trusted=trusted),
        skills=(),
        agents=(),
        instructions=_instructions(view.cwd, console, trusted=trusted),
        sandbox=_sandbox(loaded, view.cwd, console),
        capabilities=capabilities(view),
        problems=tuple(problems[:50]),
    )


def _external_inventory(console: Console, view: SessionView) -> EngineInventory:
    """The inventory of an external engine from the files it would read, without those of an untrusted directory."""
    paths, problems = console.environment.paths, list[str]()
    trusted, notice = _trust(console, view)
    files = files_of(view.cwd, paths, problems, external=True)
    servers = (*servers_of_session(view.config.mcp_servers, "configured"),)
    known = {server.name for server in servers}
    named = [
        server if server.trusted else replace(server, state="not_used")
        for server in servers_of(files, view.cwd, "configured", trusted=trusted)
    ]
    with ExitStack() as stack:
        folders = _command_folders(stack, console, view.cwd, trusted=trusted)
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


def _trust(console: Console, view: SessionView) -> tuple[bool, str]:
    """Whether the directory is trusted, and a notice about what is disabled if it is not."""
    command = console.config.engines.get(view.config.engine, (view.config.engine,))
    try:
        found = folder_trust(command, view.cwd, console.environment.paths)
    except WorkerError as error:
        return False, str(error)
    return found.trusted, found.notice


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


def _loaded(cwd: str, console: Console, problems: list[str]) -> LoadedSettings | None:
    try:
        return load(cwd, console.environment.paths)
    except BrokenSettings as error:
        problems.append(f"{error} No session starts here until that is fixed."[:500])
        return None


def _tools(loaded: LoadedSettings | None, view: SessionView, console: Console, problems: list[str]) -> tuple[str, ...]:
    rules: list[Rule] = []
    texts = [(rule.text, BEHAVIORS[rule.behavior], rule.source) for rule in (loaded.rules if loaded else ())]
    texts += [(text, Effect.DENY, "cli") for text in denied_tools(view.config)]
    for text, verdict, source in texts:
        try:
            rules.append(Rule.parse(text, verdict, source))
        except ValueError as error:
            problems.append(f"Invalid rule: {error}"[:500])
    policy = Policy("default", rules, root=view.cwd, home=console.environment.paths.home)
    searches = bool(console.environment.search or (loaded and loaded.settings.search))
    needs: set[Any] = {"person", "search"} if searches else {"person"}
    return Tools.load(available=needs, removed=policy.denied_tools(), entry_points=False).names


def _sandbox(loaded: LoadedSettings | None, cwd: str, console: Console) -> SandboxState:
    wanted = loaded.settings.sandbox if loaded is not None else None
    if wanted is None or not wanted.enabled:
        return SandboxState(False, "", "")
    path = console.environment.children.get("PATH", "")
    found = available(path, cwd, unverified=bool(wanted.allow_unverified))
    problem = "" if found.kind else "; ".join(f"{name}: {why}" for name, why in found.found if why)
    return SandboxState(True, found.kind, problem[:500])


def _instructions(cwd: str, console: Console, *, trusted: bool) -> tuple[InstructionFile, ...]:
    paths = console.environment.paths
    own = user_instructions(paths.bobstay, paths.claude, home=paths.home)
    repository = find_repository(cwd)
    known = {instruction.path for instruction in own}
    project = project_instructions(cwd, os.path.dirname(repository) if repository else cwd, imports=trusted)
    nearer = [instruction for instruction in project if instruction.path not in known]
    return (
        *(InstructionFile(each.path, _size(each), "user", True) for each in own),
        *(InstructionFile(each.path, _size(each), "project", trusted) for each in nearer),
    )


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


def _command_folders(stack: ExitStack, console: Console, cwd: str, *, trusted: bool) -> list[CommandFolder]:
    """Command folders, the project's first, so that it wins when two entries have the same name."""
    found: list[CommandFolder] = []
    home = os.path.realpath(console.environment.paths.claude)
    for directory, folder, level, trust, bounds in (
        (cwd, ".claude", "project", trusted, allowed_roots(console)),
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
