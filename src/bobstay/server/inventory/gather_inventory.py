"""Gathers what is around a session's engine, or would be around a new one. It reads files and starts nothing."""

import asyncio
import os
import stat
from contextlib import ExitStack
from typing import Any

from msgspec.structs import replace

from bobstay.config.settings_files import BrokenSettings, LoadedSettings, load
from bobstay.config.trust import standing
from bobstay.context.git_status import branch, find_repository
from bobstay.context.instructions import Instruction, of_project, of_user
from bobstay.permissions.access import Effect
from bobstay.permissions.policy import Policy
from bobstay.permissions.rule import BEHAVIORS, Rule
from bobstay.permissions.sandbox.availability import available
from bobstay.redaction.redactor import Redactor
from bobstay.server.console import Console
from bobstay.server.errors import ApiError
from bobstay.server.files.session_directory import AllowedRoots, bounds_of, look
from bobstay.server.inventory.capabilities import NATIVE, capabilities
from bobstay.server.inventory.command_files import CommandFolder
from bobstay.server.inventory.engine_report import EngineReport, newest
from bobstay.server.inventory.inventory_types import EngineInventory, InstructionFile, Level, McpServer, SandboxState
from bobstay.server.inventory.settings_inventory import files_of, hooks_of, of_session, servers_of
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.workers.process.engine_trust import folder_trust
from bobstay.server.workers.worker import WorkerError
from bobstay.server.workflows import denied_tools
from bobstay.tools.tool_registry import ToolRegistry as Tools

PATIENCE = 2.0
OWN = frozenset({NATIVE, "bobstay"})
"""Engines that keep to our settings."""
_THEIRS = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")


async def around(console: Console, view: SessionView) -> EngineInventory:
    """What is around a session, or around one that would begin like `view`."""
    said = None
    if view.seq and view.config.engine != NATIVE:
        await console.database.flushed(view.id, view.seq, PATIENCE)
        said = await newest(console.database, view.id)
    found = await asyncio.to_thread(_ours if view.config.engine in OWN else _theirs, console, view)
    if said is not None:
        found = _joined(found, said)
    names = frozenset(command.name for command in found.commands)
    found = replace(found, capabilities=capabilities(view, names))
    masked: EngineInventory = Redactor(console.environment.secrets).value(found)
    return masked


def _ours(console: Console, view: SessionView) -> EngineInventory:
    """For an engine that keeps to our settings, from these."""
    paths, problems = console.environment.paths, list[str]()
    loaded = _loaded(view.cwd, console, problems)
    trusted = loaded.trusted if loaded is not None else standing(view.cwd, paths).trusted
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


def _theirs(console: Console, view: SessionView) -> EngineInventory:
    """For an external engine, from the files it would read. It starts without those of a directory nobody trusts."""
    paths, problems = console.environment.paths, list[str]()
    trusted, notice = _trust(console, view)
    files = files_of(view.cwd, paths, problems, external=True)
    servers = (*of_session(view.config.mcp_servers, "configured"),)
    known = {server.name for server in servers}
    named = [
        server if server.trusted else replace(server, state="not_used")
        for server in servers_of(files, view.cwd, "configured", trusted=trusted)
    ]
    with ExitStack() as stack:
        shelves = _shelves(stack, console, view.cwd, trusted=trusted)
        commands = tuple(entry for shelf in shelves for entry in shelf.commands())
        skills = tuple(entry for shelf in shelves for entry in shelf.skills())
        agents = tuple(entry for shelf in shelves for entry in shelf.agents())
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
        instructions=_their_instructions(view.cwd, paths.claude, trusted=trusted),
        sandbox=SandboxState(False, "", ""),
        capabilities=capabilities(view),
        problems=tuple(problems[:50]),
    )


def _trust(console: Console, view: SessionView) -> tuple[bool, str]:
    """Whether the directory is trusted, and what the engine is started without if it is not."""
    command = console.config.engines.get(view.config.engine, (view.config.engine,))
    try:
        found = folder_trust(command, view.cwd, console.environment.paths)
    except WorkerError as error:
        return False, str(error)
    return found.trusted, found.notice


def _branch(cwd: str) -> str:
    repository = find_repository(cwd)
    return branch(repository) if repository else ""


def _joined(found: EngineInventory, said: EngineReport) -> EngineInventory:
    """What the engine said counts; the files add what it did not say: where a thing is from, and what it is for."""
    return replace(
        found,
        origin="engine",
        at=said.at,
        version=said.version,
        tools=said.tools,
        commands=_with_places(said.commands, found.commands),
        mcp_servers=tuple(_with_state(server, found.mcp_servers) for server in said.mcp_servers),
        skills=_with_places(said.skills, found.skills),
        agents=_with_places(said.agents, found.agents),
    )


def _with_places(said: tuple[Any, ...], found: tuple[Any, ...]) -> tuple[Any, ...]:
    known = {entry.name: entry for entry in found}
    return tuple(
        replace(known[entry.name], description=entry.description or known[entry.name].description)
        if entry.name in known
        else entry
        for entry in said
    )


def _with_state(said: McpServer, found: tuple[McpServer, ...]) -> McpServer:
    known = next((server for server in found if server.name == said.name), None)
    return said if known is None else replace(known, state=said.state)


def _loaded(cwd: str, console: Console, problems: list[str]) -> LoadedSettings | None:
    try:
        return load(cwd, console.environment.paths)
    except BrokenSettings as error:
        problems.append(f"{error} No session starts here until that is mended."[:500])
        return None


def _tools(loaded: LoadedSettings | None, view: SessionView, console: Console, problems: list[str]) -> tuple[str, ...]:
    rules: list[Rule] = []
    texts = [(rule.text, BEHAVIORS[rule.verdict], rule.source) for rule in (loaded.rules if loaded else ())]
    texts += [(text, Effect.DENY, "cli") for text in denied_tools(view.config)]
    for text, verdict, source in texts:
        try:
            rules.append(Rule.parse(text, verdict, source))
        except ValueError as error:
            problems.append(f"A rule means nothing: {error}"[:500])
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
    own = of_user(paths.bobstay, paths.claude, home=paths.home)
    repository = find_repository(cwd)
    known = {instruction.path for instruction in own}
    project = of_project(cwd, os.path.dirname(repository) if repository else cwd, imports=trusted)
    nearer = [instruction for instruction in project if instruction.path not in known]
    return (
        *(InstructionFile(each.path, _size(each), "user", True) for each in own),
        *(InstructionFile(each.path, _size(each), "project", trusted) for each in nearer),
    )


def _their_instructions(cwd: str, home: str, *, trusted: bool) -> tuple[InstructionFile, ...]:
    repository = find_repository(cwd)
    top, folder = os.path.dirname(repository) if repository else cwd, cwd
    folders = [folder]
    while folder != top and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
        folders.append(folder)
    found = [_instruction(f"{home}/CLAUDE.md", "user", trusted=True)]
    for place in reversed(folders):
        found += [_instruction(f"{place}/{name}", "project", trusted=trusted) for name in _THEIRS]
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


def _shelves(stack: ExitStack, console: Console, cwd: str, *, trusted: bool) -> list[CommandFolder]:
    """The folder's first: where two have the same name, it is nearer."""
    found: list[CommandFolder] = []
    home = os.path.realpath(console.environment.paths.claude)
    for place, folder, level, trust, bounds in (
        (cwd, ".claude", "project", trusted, bounds_of(console)),
        (home, "", "user", True, AllowedRoots((home,))),
    ):
        if not trust:
            continue  # the engine is started without them
        try:
            opened = stack.enter_context(look(place, bounds))
        except ApiError:
            continue
        found.append(CommandFolder(opened, folder, "project" if level == "project" else "user", trust))
    return found
