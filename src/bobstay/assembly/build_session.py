"""Builds a session from options, settings and environment: the only module that knows every component."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bobstay.assembly.background_commands import BackgroundCommands
from bobstay.assembly.hook_lifecycle import HookLifecycle, make_ports, make_sinks
from bobstay.assembly.prompt_facts import build_system_prompt
from bobstay.assembly.provider_access import resolve_provider_access
from bobstay.assembly.session import AgentSession, Closer, Mirror
from bobstay.assembly.session_hooks import HookWatcher, build_hooks
from bobstay.assembly.session_log import OpenedLog, open_log
from bobstay.assembly.session_policy import initial_mode, make_policy
from bobstay.assembly.start_context import StartContext
from bobstay.assembly.tool_services import build_services, build_shells, build_tool_registry, can_use_hosted_search
from bobstay.assembly.trust_policy import UntrustedJudge, build_settings_writer, child_environment
from bobstay.config.environment import Environment
from bobstay.config.options import Options
from bobstay.config.settings_files import BrokenSettings
from bobstay.engine.agent import Agent, RequestSettings, RetryPolicy, StreamTimeouts
from bobstay.engine.auto_mode import Advisor, AutoModeApproval
from bobstay.engine.driver import Driver
from bobstay.engine.engine_ports import Answer, Approver
from bobstay.engine.hook_notes import HookNotes
from bobstay.engine.journal import Journal
from bobstay.engine.limits import Limits
from bobstay.engine.state import State
from bobstay.engine.tool_environment import ToolEnvironment
from bobstay.engine.toolbox import Toolbox
from bobstay.engine.turn_hooks import judge_task
from bobstay.hooks.hook_event import NO_OPINION, HookCall, HookFacts, HookName, HookOutcome, Hooks
from bobstay.model.event import InteractionOpened
from bobstay.permissions.policy import Policy
from bobstay.providers.thinking import ThinkingMode
from bobstay.sessions.log import LogError
from bobstay.tools.base import Tool

if TYPE_CHECKING:
    from bobstay.sessions.claude_projection import ClaudeProjection


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


async def open_session(
    options: Options,
    approver: Approver | None = None,
    hooks: Hooks | None = None,
    *,
    tools: tuple[Tool[Any], ...] = (),
    environment: Environment | None = None,
    hook_watcher: HookWatcher | None = None,
    history: OpenedLog | None = None,
) -> AgentSession:
    """Build a session. `history` is a log that the caller has already opened, to continue with.

    Raises:
        StartError: with a text for a person.
    """
    try:
        start = _prepare(options, environment or Environment.read(), history)
        try:
            session = await _assemble(start, approver or NoApprover(), hooks or NoHooks(), tools, hook_watcher)
        except BaseException:
            start.history.log.close()
            raise
    except (BrokenSettings, LogError, ValueError, OSError, msgspec.ValidationError) as error:
        raise StartError(_error_text(error)) from error
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


def _prepare(options: Options, environment: Environment, history: OpenedLog | None) -> StartContext:
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
    warnings += access.routes.list_warnings(models, _budget(options, loaded.settings.max_budget_usd))
    return StartContext(
        options, environment, loaded, access.cwd, access.routes, model, access.redactor, history, warnings
    )


async def _assemble(
    start: StartContext, approver: Approver, host: Hooks, tools: tuple[Tool[Any], ...], watcher: HookWatcher | None
) -> AgentSession:
    """Build the session, each part from those before it."""
    mode, can_bypass = initial_mode(start)
    journal = Journal(start.history.log, _restore_state(start, mode))
    spill = Path(start.environment.paths.bobstay, "output", start.session_id)
    shells = build_shells(start, spill)
    policy = make_policy(start, mode, can_bypass=can_bypass, readable=(str(spill),), sandbox=shells.sandbox)
    services = build_services(start, policy, shells, journal)
    tool_environment = ToolEnvironment(
        session_id=start.session_id,
        root=Path(start.cwd),
        directories=(Path(start.cwd), *(Path(folder) for folder in policy.directories)),
        spill=spill,
        environment=child_environment(start),
        services=services,
    )
    background, notes = BackgroundCommands(journal, shells), HookNotes()
    hooks = build_hooks(
        start,
        host,
        tool_environment,
        watcher,
        ports=lambda: make_ports(start, journal),
        sinks=lambda: make_sinks(notes, background),
    )
    registry = build_tool_registry(start, policy, services, tools, can_ask=approver.can_ask)
    start.warnings.extend(registry.warnings)
    projection = _build_projection(start)
    auto = AutoModeApproval(lambda: _build_advisor(start, journal))
    _replay(start, tool_environment, auto)
    toolbox = Toolbox(
        registry,
        judge=policy if start.loaded.trusted else UntrustedJudge(policy),
        approver=approver,
        hooks=hooks,
        tool_environment=tool_environment,
        facts=_hook_facts(start, tool_environment, policy, projection),
        redactor=start.redactor,
        auto=auto,
        concurrency=start.loaded.settings.max_concurrent_tools or 10,
        notes=notes,
    )
    services.judge_task = partial(judge_task, toolbox)
    agent = _build_agent(start, toolbox, policy, journal.state)
    journal.observers += (policy, tool_environment, auto, background, build_settings_writer(start))
    background.record_lost()
    lifecycle = HookLifecycle(hooks, toolbox, start, journal)
    session_start = await lifecycle.begin()
    closers: list[Closer] = [toolbox.close, shells.close, lifecycle.end, start.routes.close]
    if start.history.scratch:
        closers.append(lambda: _remove_folder(start.history.scratch))
    mirror = _attach_projection(journal, start, projection)
    driver = Driver(agent, journal, session_start)
    return AgentSession(start, driver, background, can_bypass=can_bypass, closers=tuple(closers), mirror=mirror)


def _hook_facts(
    start: StartContext, tool_environment: ToolEnvironment, policy: Policy, projection: "ClaudeProjection | None"
) -> HookFacts:
    transcript = projection.path if projection is not None else start.history.log.path
    return HookFacts(
        lambda: {
            "session_id": start.session_id,
            "transcript_path": transcript,
            "cwd": str(tool_environment.cwd),
            "permission_mode": policy.mode,
        }
    )


def _attach_projection(journal: Journal, start: StartContext, projection: "ClaudeProjection | None") -> Mirror | None:
    if projection is None:
        return None
    projection.resume(start.history.branch)
    journal.listeners.append(projection.write)
    return lambda: (projection.path, projection.drain())


def _build_advisor(start: StartContext, journal: Journal) -> Advisor:
    """Build the auto mode judge; called when it is first needed."""
    from bobstay.assembly.auto_mode_judge import SmallModel, choose_small_model

    lists = start.loaded.settings.auto_mode
    return SmallModel(
        start.routes,
        lambda: choose_small_model(lists.model, journal.state.model or start.model),
        lists,
        start.redactor,
        cwd=start.cwd,
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


def _restore_state(start: StartContext, mode: str) -> State:
    state = State()
    for envelope in start.history.branch:
        state = state.apply(envelope.event)
    # The permission mode comes from this start and not from the log, so that a resume never grants more than asked for.
    model, chosen = ("", "") if start.options.model else (state.model, state.chosen)
    return msgspec.structs.replace(state, mode=mode, running=False, model=model, chosen=chosen)


def _replay(start: StartContext, tool_environment: ToolEnvironment, auto: AutoModeApproval) -> None:
    """Bring the folds that a resumed session continues up to its last entry. Rules and mode begin anew."""
    for envelope in start.history.branch:
        tool_environment.apply(envelope.event)
        auto.apply(envelope.event)
        start.redactor.remember_placeholders(envelope.event)


def _build_agent(start: StartContext, toolbox: Toolbox, policy: Policy, state: State) -> Agent:
    options, settings = start.options, start.loaded.settings
    retries, blocks = start.environment.max_retries, start.environment.stop_hook_blocks
    return Agent(
        model=start.model,
        models=start.routes,
        system=build_system_prompt(start, toolbox.tool_environment),
        toolbox=toolbox,
        session_id=start.session_id,
        fallbacks=options.fallback_models or settings.fallbacks,
        limits=Limits(
            turns=options.max_turns or settings.max_turns,
            cost=_budget(options, settings.max_budget_usd),
            tokens=options.max_tokens_total or options.task_budget,
            seconds=options.max_seconds,
            stop_blocks=Limits().stop_blocks if blocks is None else blocks,
        ),
        retry=RetryPolicy() if retries is None else RetryPolicy(attempts=retries),
        timeouts=_stream_timeouts(start),
        settings=RequestSettings(_thinking(options)),
        thinking_display=options.thinking_display or "",
        effort=options.effort or _parse_effort(settings.effort),
        max_output=start.environment.max_output_tokens,
        betas=options.betas,
        hosted_search=can_use_hosted_search(start, policy, toolbox.tool_environment.services),
        structured=options.json_schema is not None,
        spent_before=state.cost,
    )


def _stream_timeouts(start: StartContext) -> StreamTimeouts:
    """Read the timeouts. A configured limit for the first event applies to local models too."""
    timeouts, defaults = start.loaded.settings.timeouts, StreamTimeouts()
    first = (timeouts.first_event if timeouts else None) or (start.environment.api_timeout_ms or 0) / 1000
    between = (timeouts.between_events if timeouts else None) or defaults.between
    return StreamTimeouts(first or defaults.first, between, first or defaults.first_local)


def _budget(options: Options, configured: float | None) -> float | None:
    return options.max_budget_usd if options.max_budget_usd is not None else configured


def _parse_effort(configured: str | None) -> Any:
    return configured if configured in ("low", "medium", "high", "xhigh", "max") else None


def _thinking(options: Options) -> ThinkingMode:
    """Read the requested thinking mode, independent of the model: each request adapts it to its model."""
    if options.thinking == "disabled" or options.max_thinking_tokens == 0:
        return "off"
    return options.max_thinking_tokens or "adaptive"


def _build_projection(start: StartContext) -> "ClaudeProjection | None":
    """Build the writer of a transcript in the official SDK's format, if that SDK drives this session."""
    options, entrypoint = start.options, start.environment.entrypoint
    if not (entrypoint or options.session_mirror) or options.no_session_persistence:
        return None
    from bobstay.context.git_status import current_branch, find_repository
    from bobstay.sessions.claude_projection import ClaudeProjection, TranscriptOrigin
    from bobstay.version import PROTOCOL_LEVEL

    repository = find_repository(start.cwd)
    branch = current_branch(repository) if repository else ""
    origin = TranscriptOrigin(start.session_id, start.cwd, PROTOCOL_LEVEL, entrypoint or "cli", branch)
    return ClaudeProjection(start.environment.paths.claude, origin, mirror=options.session_mirror)


async def _remove_folder(folder: str) -> None:
    from shutil import rmtree

    rmtree(folder, ignore_errors=True)


def _error_text(error: BaseException) -> str:
    if isinstance(error, OSError) and not isinstance(error, LogError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return str(error) or type(error).__name__
