"""Builds a session from options, settings and environment: the only module that knows every component."""

import os
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bobstay.assembly.agent_memory import open_memory, select_tools
from bobstay.assembly.build_agent import budget, build_agent
from bobstay.assembly.hook_lifecycle import HookLifecycle
from bobstay.assembly.log_observers import observe_log, replay_log
from bobstay.assembly.prompt_facts import build_prompt
from bobstay.assembly.provider_access import resolve_provider_access
from bobstay.assembly.server_connector import ServerConnector
from bobstay.assembly.server_presence import HostPorts
from bobstay.assembly.session import AgentSession, Closer
from bobstay.assembly.session_hooks import HookWatcher
from bobstay.assembly.session_log import OpenedLog, open_log
from bobstay.assembly.session_parts import SessionParts, build_parts
from bobstay.assembly.start_context import Predecessor, StartContext
from bobstay.assembly.tool_services import attach_mentioned, coordinates, select_for_coordinator
from bobstay.assembly.trust_policy import UntrustedJudge
from bobstay.config.environment import Environment
from bobstay.config.options import Options
from bobstay.config.settings_files import BrokenSettings
from bobstay.engine.agent_tree import AgentLimits, AgentSpawner, AgentTree, ChildBuilder
from bobstay.engine.auto_mode import AutoModeApproval
from bobstay.engine.driver import Driver
from bobstay.engine.engine_ports import Answer, Approver
from bobstay.engine.reminders import INSTRUCTIONS
from bobstay.engine.running_agent import ParentAgent
from bobstay.engine.tool_environment import ToolEnvironment
from bobstay.engine.toolbox import Toolbox
from bobstay.engine.turn_hooks import instructions_loaded, judge_task
from bobstay.hooks.hook_event import NO_OPINION, HookCall, HookFacts, HookName, HookOutcome, Hooks
from bobstay.model.event import InteractionOpened
from bobstay.permissions.policy import Policy
from bobstay.sessions.log import LogError
from bobstay.tools.base import Tool

if TYPE_CHECKING:
    from bobstay.assembly.command_runner import CommandRunner
    from bobstay.assembly.server_binding import ServerBinding
    from bobstay.assembly.session_transcripts import SessionTranscripts


class StartError(Exception):
    """A session cannot be started. The text is for a person: what is wrong and what to do."""


class NoApprover:
    """The approver of a session without a person to ask."""

    can_ask = False

    async def ask(self, opened: InteractionOpened) -> Answer:
        return Answer(False, "Nobody is here to ask.", by="nobody")


class NoHooks:
    def wants(self, name: HookName, subject: str = "") -> bool:
        return False

    async def run(self, call: HookCall) -> HookOutcome:
        return NO_OPINION


async def open_session(  # noqa: PLR0913 - the one place where a caller gives all of it
    options: Options,
    approver: Approver | None = None,
    hooks: Hooks | None = None,
    *,
    tools: tuple[Tool[Any], ...] = (),
    environment: Environment | None = None,
    hook_watcher: HookWatcher | None = None,
    history: OpenedLog | None = None,
    ports: HostPorts | None = None,
    predecessor: Predecessor | None = None,
) -> AgentSession:
    """Build a session. `history` is a log that the caller has already opened, to continue with.

    `ports` are what a host does for MCP servers. `predecessor` is the session that this one takes the place of.

    Raises:
        StartError: with a text for a person.
    """
    environment = environment or Environment.read()
    try:
        start = _prepare(options, environment, history, predecessor)
        try:
            session = await _assemble(
                start, approver or NoApprover(), hooks or NoHooks(), tools, hook_watcher, ports or HostPorts()
            )
        except BaseException:
            start.history.log.close()
            raise
    except (BrokenSettings, LogError, ValueError, OSError, msgspec.ValidationError) as error:
        raise StartError(_error_text(error)) from error
    session.open_next = partial(
        open_session,
        approver=approver,
        hooks=hooks,
        tools=tools,
        environment=environment,
        hook_watcher=hook_watcher,
        ports=ports,
    )
    days = start.loaded.settings.cleanup_period_days
    if days is not None and history is None:  # a server that owns the logs cleans up itself
        from bobstay.assembly.session_cleanup import start_cleanup

        start_cleanup(session, start, days)
    return session


async def check_start(options: Options, environment: Environment) -> None:
    """Check whether a session could start, without starting one: are the settings valid, is the model reachable?

    Raises:
        StartError: with a text for a person; its cause is the error itself.
    """
    from asyncio import to_thread

    try:
        access = await to_thread(resolve_provider_access, options, environment, _resolve_directory(options.cwd))
    except (BrokenSettings, ValueError, OSError) as error:
        raise StartError(_error_text(error)) from error
    await access.routes.close()


def _prepare(
    options: Options, environment: Environment, history: OpenedLog | None, predecessor: Predecessor | None
) -> StartContext:
    """Read the settings, choose the model and open the log: every step that can fail because of user input."""
    if options.json_schema is not None:
        from bobstay.tools.schema import check_answer_schema

        check_answer_schema(options.json_schema)
    access = resolve_provider_access(options, environment, _resolve_directory(options.cwd))
    loaded, environment, model = access.loaded, access.environment, access.model
    history = history or open_log(options, environment, access.cwd, model)
    warnings = [
        *history.warnings,
        *([loaded.untrusted_notice] if loaded.untrusted_notice else []),
        *access.setting_warnings,
        *access.model_warnings,
    ]
    if environment.unredacted or loaded.settings.env:
        from bobstay.assembly.one_time_notices import unredacted_notice

        warnings += unredacted_notice(environment, loaded.settings)
    models = (model, *(options.fallback_models or loaded.settings.fallbacks))
    warnings += access.routes.list_warnings(models, budget(options, loaded.settings.max_budget_usd))
    return StartContext(
        options, environment, loaded, access.cwd, access.routes, model, access.redactor, history, warnings, predecessor
    )


async def _assemble(
    start: StartContext,
    approver: Approver,
    host: Hooks,
    tools: tuple[Tool[Any], ...],
    watcher: HookWatcher | None,
    ports: HostPorts,
) -> AgentSession:
    """Build the session, each part from those before it."""
    parts = build_parts(start, approver, host, tools, watcher)
    transcripts = _open_transcripts(start)
    binding = _bind_servers(parts)

    @cache
    def children() -> ChildBuilder:  # called for the first sub-agent, when all parts below are there
        return _build_children(parts, transcripts, ports, binding, servers)

    tree = AgentTree(children, parts.running, start.redactor, AgentLimits())
    spawner = AgentSpawner(tree, ParentAgent(parts.journal))
    memory = open_memory(parts.lead, start) if parts.lead is not None and parts.lead.memory else None
    toolbox = _build_toolbox(parts, spawner, transcripts.main.path if transcripts is not None else "")
    services = toolbox.tool_environment.services
    servers = ServerConnector(parts, toolbox, ports)
    servers.begin()
    services.judge_task = partial(judge_task, toolbox)
    commands = None
    if not start.options.disable_slash_commands:
        commands = services.skills = cache(partial(_build_commands, parts, toolbox, spawner, servers))
    prompt = build_prompt(
        start, toolbox.tool_environment, parts.instructions, parts.library, toolbox.registry, parts.lead, memory
    )
    spent_before = parts.journal.state.cost - (start.predecessor.spent if start.predecessor is not None else 0.0)
    if memory is not None:
        parts.policy.memory = memory.folder
    agent = build_agent(start, toolbox, parts.policy, prompt.system, spent_before, parts.lead)
    tree.add_root(agent)
    observe_log(parts, toolbox, tree)
    if transcripts is not None:
        parts.journal.listeners.append(transcripts.main.write)
    lifecycle = HookLifecycle(parts.hooks, toolbox, start, parts.journal)
    session_start = await lifecycle.begin()
    if any(reminder.why == INSTRUCTIONS for reminder in prompt.opening):
        for file in parts.instructions.first_files:
            instructions_loaded(toolbox, file.path, file.kind.capitalize(), "session_start", file.imported_by)
    return AgentSession(
        start,
        Driver(agent, parts.journal, session_start, prompt.opening),
        styles=prompt.styles,
        background=parts.background,
        agents=tree,
        library=parts.library,
        commands=commands,
        servers=servers,
        can_bypass=parts.can_bypass,
        lifecycle=lifecycle,
        closers=_list_closers(parts, tree, toolbox, lifecycle, servers, transcripts),
        mirror=transcripts.drain if transcripts is not None else None,
        initial_prompt=parts.initial_prompt,
    )


def _build_toolbox(parts: SessionParts, spawner: AgentSpawner, transcript: str) -> Toolbox:
    """Build the toolbox of the session's own agent. `transcript` is that for hosts, if there is one."""
    start, policy, registry, lead = parts.start, parts.policy, parts.tools.registry, parts.lead
    tool_environment = ToolEnvironment(
        session_id=start.session_id,
        root=Path(start.cwd),
        directories=(Path(start.cwd), *(Path(folder) for folder in policy.directories)),
        spill=parts.spill,
        environment=parts.environment,
        services=msgspec.structs.replace(parts.services, agents=spawner),
    )
    auto = AutoModeApproval(parts.build_advisor)
    replay_log(start, tool_environment, policy, auto)
    if lead is not None:
        registry = registry.select(select_tools(lead), lead.disallowed_tools)
    toolbox = Toolbox(
        select_for_coordinator(registry) if coordinates(start) else registry,
        judge=policy if start.loaded.trusted else UntrustedJudge(policy),
        approver=parts.approver,
        hooks=parts.hooks,
        tool_environment=tool_environment,
        facts=_hook_facts(start, tool_environment, policy, transcript),
        redactor=start.redactor,
        auto=auto,
        concurrency=start.loaded.settings.max_concurrent_tools or 10,
        notes=parts.notes,
    )
    toolbox.attach = attach_mentioned(toolbox)
    return toolbox


def _bind_servers(parts: SessionParts) -> "ServerBinding | None":
    """Note what the MCP servers of agents run now: the session's own tools could rewrite it before one is started."""
    agents = [each for each in parts.library.current.agents if each.mcp_servers]
    if not agents:
        return None
    from bobstay.assembly.server_binding import ServerBinding

    return ServerBinding(parts.start.cwd, agents)


def _build_children(
    parts: SessionParts,
    transcripts: "SessionTranscripts | None",
    ports: HostPorts,
    binding: "ServerBinding | None",
    servers: ServerConnector,
) -> ChildBuilder:
    from bobstay.assembly.child_agents import ChildAgents

    return ChildAgents(parts, transcripts, ports, binding, servers)


def _build_commands(
    parts: SessionParts, toolbox: Toolbox, spawner: AgentSpawner, servers: ServerConnector
) -> "CommandRunner":
    from bobstay.assembly.command_runner import CommandRunner

    return CommandRunner(parts.start, parts.library, toolbox, spawner, servers)


def _list_closers(
    parts: SessionParts,
    tree: AgentTree,
    toolbox: Toolbox,
    lifecycle: HookLifecycle,
    servers: ServerConnector,
    transcripts: "SessionTranscripts | None",
) -> tuple[Closer, ...]:
    closers: list[Closer] = [tree.close, toolbox.close]
    if parts.languages is not None:
        closers.append(parts.languages.close)
    closers += [servers.close, parts.shells.close, lifecycle.end, parts.start.routes.close]
    if transcripts is not None:
        closers.append(transcripts.close)
    if folder := parts.start.history.scratch:
        closers.append(lambda: _remove_folder(folder))
    return tuple(closers)


def _hook_facts(start: StartContext, tool_environment: ToolEnvironment, policy: Policy, transcript: str) -> HookFacts:
    return HookFacts(
        lambda: {
            "session_id": start.session_id,
            "transcript_path": transcript or start.history.log.path,
            "cwd": str(tool_environment.cwd),
            "permission_mode": policy.mode,
        }
    )


def _resolve_directory(requested: str | None) -> str:
    try:
        folder = os.path.realpath(requested) if requested else os.getcwd()
        os.listdir(folder)
    except OSError as error:
        raise StartError(
            f"Cannot work in {requested or 'the current directory'}: {error.strerror}. "
            "Choose a directory that can be read."
        ) from error
    return folder


def _open_transcripts(start: StartContext) -> "SessionTranscripts | None":
    """Open the transcripts in the official SDK's format, if that SDK drives this session."""
    options = start.options
    if not (start.environment.entrypoint or options.session_mirror) or options.no_session_persistence:
        return None
    from bobstay.assembly.session_transcripts import SessionTranscripts

    return SessionTranscripts(start)


async def _remove_folder(folder: str) -> None:
    from shutil import rmtree

    rmtree(folder, ignore_errors=True)


def _error_text(error: BaseException) -> str:
    if isinstance(error, OSError) and not isinstance(error, LogError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return str(error) or type(error).__name__
