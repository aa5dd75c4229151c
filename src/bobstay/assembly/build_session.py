"""Makes a session out of options, settings and environment: the only place that knows every part."""

import os
from pathlib import Path
from typing import Any

import msgspec

from bobstay.assembly.background_commands import BackgroundCommands
from bobstay.assembly.prompt_facts import system_prompt
from bobstay.assembly.provider_access import reach
from bobstay.assembly.session import Session
from bobstay.assembly.session_hooks import HookWatcher, session_began, session_ended, session_hooks
from bobstay.assembly.session_log import OpenedLog, take_up
from bobstay.assembly.session_policy import initial_mode, make_policy
from bobstay.assembly.start_context import StartContext
from bobstay.assembly.tool_services import lend, may_search, shelf_for
from bobstay.assembly.trust_policy import UntrustedJudge, child_environment, kept_updates
from bobstay.config.environment import Environment
from bobstay.config.options import Options
from bobstay.config.settings_files import BrokenSettings
from bobstay.engine.agent import Agent, StreamTimeouts
from bobstay.engine.auto_mode import Advisor, AutoModeApproval
from bobstay.engine.driver import Driver
from bobstay.engine.engine_ports import Answer, Approver
from bobstay.engine.limits import Limits
from bobstay.engine.recovery import RetryPolicy
from bobstay.engine.state import State
from bobstay.engine.tool_environment import ToolEnvironment
from bobstay.engine.toolbox import Toolbox
from bobstay.hooks.hook_event import NO_OPINION, HookCall, HookName, HookOutcome, Hooks
from bobstay.model.event import InteractionOpened
from bobstay.providers.thinking import Wanted
from bobstay.sessions.log import LogError
from bobstay.tools.base import Tool


class StartError(Exception):
    """A session cannot be started. The text is for a person: what is wrong and what to do."""


class NoApprover:
    """The gate of a session with nobody to ask."""

    can_ask = False

    async def ask(self, opened: InteractionOpened) -> Answer:
        return Answer(False, "NoApprover is here to ask.", by="nobody")


class NoHooks:
    def wants(self, name: HookName, subject: str = "") -> bool:
        return False

    async def run(self, call: HookCall) -> HookOutcome:
        return NO_OPINION


class DriverEndGuard:
    """Passes the question whether a run may end on to the driver, which is made after the agent."""

    driver: Driver

    async def before_end(self, last_text: str, *, again: bool) -> HookOutcome:
        return await self.driver.before_end(last_text, again=again)


async def open_session(
    options: Options,
    gate: Approver | None = None,
    hooks: Hooks | None = None,
    *,
    tools: tuple[Tool[Any], ...] = (),
    environment: Environment | None = None,
    hook_watcher: HookWatcher | None = None,
    history: OpenedLog | None = None,
) -> Session:
    """Put a session together. `history` is an open log to go on with, where the caller keeps it.

    Raises:
        StartError: with a text for a person.
    """
    try:
        start = _start(options, environment or Environment.read(), history)
        try:
            session = await _assemble(start, gate or NoApprover(), hooks or NoHooks(), tools, hook_watcher)
        except BaseException:
            start.history.log.close()
            raise
    except (BrokenSettings, LogError, ValueError, OSError, msgspec.ValidationError) as error:
        raise StartError(_plain(error)) from error
    days = start.loaded.settings.cleanup_period_days
    if days is not None and history is None:  # a server that keeps the logs cleans up by itself
        from bobstay.assembly.session_cleanup import clean_up_beside

        clean_up_beside(session, start, days)
    return session


async def check_start(options: Options, environment: Environment) -> None:
    """Find out what would keep a session from starting, before there is one: broken settings, an unreachable model.

    Raises:
        StartError: with a text for a person; its cause is the error itself.
    """
    from asyncio import to_thread

    try:
        reached = await to_thread(reach, options, environment, _directory(options.cwd))
    except (BrokenSettings, ValueError, OSError) as error:
        raise StartError(_plain(error)) from error
    await reached.routes.close()


def _start(options: Options, environment: Environment, history: OpenedLog | None) -> StartContext:
    """Read the settings, find the model, open the log: all that can fail because of what somebody wrote or asked."""
    if options.json_schema is not None:
        from bobstay.tools.schema import check_answer_schema

        check_answer_schema(options.json_schema)
    reached = reach(options, environment, _directory(options.cwd))
    loaded, environment, model = reached.loaded, reached.environment, reached.model
    history = history or take_up(options, environment, reached.cwd, model)
    warnings = [
        *history.warnings,
        *([loaded.untrusted_notice] if loaded.untrusted_notice else []),
        *reached.left_out,
        *reached.about_model,
    ]
    if environment.unredacted or loaded.settings.env:
        from bobstay.assembly.one_time_notices import unredacted_notice

        warnings += unredacted_notice(environment, loaded.settings)
    models = (model, *(options.fallback_models or loaded.settings.fallbacks))
    warnings += reached.routes.cautions(models, _budget(options, loaded.settings.max_budget_usd))
    return StartContext(options, environment, loaded, reached.cwd, reached.routes, model, history, warnings)


async def _assemble(
    start: StartContext, gate: Approver, host: Hooks, tools: tuple[Tool[Any], ...], watcher: HookWatcher | None
) -> Session:
    history, environment = start.history, start.environment
    mode, can_bypass = initial_mode(start)
    spill = Path(environment.paths.bobstay, "output", start.session_id)
    policy = make_policy(start, mode, can_bypass=can_bypass, readable=(str(spill),))
    surroundings = ToolEnvironment(
        session_id=start.session_id,
        root=Path(start.cwd),
        directories=(Path(start.cwd), *(Path(folder) for folder in policy.directories)),
        spill=spill,
        environment=child_environment(start),
    )
    lend(start, policy, surroundings)
    hooks, commands = session_hooks(start, host, surroundings, watcher)
    shelf = shelf_for(start, policy, surroundings.parts, tools, can_ask=gate.can_ask)
    start.warnings.extend(shelf.warnings)
    projection = _projection(start)
    transcript = projection.path if projection is not None else history.log.path
    toolbox = Toolbox(
        shelf,
        judge=policy if start.loaded.trusted else UntrustedJudge(policy),
        gate=gate,
        hooks=hooks,
        surroundings=surroundings,
        facts=lambda: {
            "session_id": start.session_id,
            "transcript_path": transcript,
            "cwd": str(surroundings.cwd),
            "permission_mode": policy.mode,
            **driver.turn_facts(),
        },
        at_once=start.loaded.settings.max_concurrent_tools or 10,
    )
    toolbox.mask = surroundings.parts["shells"].mask
    toolbox.auto = AutoModeApproval(lambda: _advisor(start, toolbox, driver))
    state, finish = _state(start, surroundings, toolbox.auto, mode), DriverEndGuard()
    agent = _agent(start, toolbox, finish, state)
    agent.system = system_prompt(start, surroundings)
    agent.hosted_search = may_search(start, policy, surroundings.parts)
    background = BackgroundCommands(surroundings.parts)
    followers = (policy, surroundings, toolbox.auto, background, kept_updates(start))
    driver = Driver(agent, history.log, state, hooks=hooks, facts=toolbox.facts, followers=followers)
    finish.driver = driver
    background.join(driver)
    session = Session(
        background,
        start.routes,
        cwd=Path(start.cwd),
        can_bypass=can_bypass,
        warnings=start.warnings,
        key_source=_key_source(environment),
        closers=(toolbox.close, surroundings.parts["shells"].close, start.routes.close),
    )
    if commands is not None:
        session.on_close(lambda: session_ended(commands, toolbox.facts))
        driver.opening = await session_began(commands, start, surroundings, toolbox.facts)
    _kept_beside(session, driver, start, projection)
    return session


def _kept_beside(session: Session, driver: Driver, start: StartContext, projection: Any) -> None:
    """The transcript in another format, and the removal of a log that was not to be kept."""
    history = start.history
    if projection is not None:
        projection.resume(history.branch)
        driver.listeners.append(projection.write)
        session.mirrored_by(lambda: (projection.path, projection.take()))
    if history.scratch:
        session.on_close(lambda: _remove(history.scratch))


def _advisor(start: StartContext, toolbox: Toolbox, driver: Driver) -> Advisor:
    """The judge of auto mode, made when it is first needed."""
    from bobstay.assembly.auto_mode_judge import SmallModel, small_model

    lists = start.loaded.settings.auto_mode
    return SmallModel(
        start.routes,
        lambda: small_model(lists.model, driver.state.model or start.model),
        lists,
        toolbox.mask,
        cwd=start.cwd,
    )


def _directory(asked: str | None) -> str:
    try:
        folder = os.path.realpath(asked) if asked else os.getcwd()
        os.listdir(folder)
    except OSError as error:
        raise StartError(
            f"Cannot work in {asked or 'the current directory'}: {error.strerror}. Choose a directory that can be read."
        ) from error
    return folder


def _state(start: StartContext, surroundings: ToolEnvironment, auto: AutoModeApproval, mode: str) -> State:
    state = State()
    for envelope in start.history.branch:
        state = state.apply(envelope.event)
        surroundings.apply(envelope.event)
        auto.apply(envelope.event)
        surroundings.parts["shells"].mask.recall(envelope.event)
    # The mode is that of this start, not of an earlier one: nobody resumes into more than they asked for.
    model, chosen = ("", "") if start.options.model else (state.model, state.chosen)
    return msgspec.structs.replace(state, mode=mode, running=False, model=model, chosen=chosen)


def _agent(start: StartContext, toolbox: Toolbox, finish: DriverEndGuard, state: State) -> Agent:
    options, settings = start.options, start.loaded.settings
    retries, blocks = start.environment.max_retries, start.environment.stop_hook_blocks
    return Agent(
        model=start.model,
        models=start.routes,
        system=(),
        toolbox=toolbox,
        finish=finish,
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
        patience=_patience(start),
        thinking=_thinking(options),
        thinking_display=options.thinking_display or "",
        effort=options.effort or _effort(settings.effort),
        max_output=start.environment.max_output_tokens,
        betas=options.betas,
        structured=options.json_schema is not None,
        spent_before=state.cost,
    )


def _patience(start: StartContext) -> StreamTimeouts:
    """A limit for the first event that somebody set is meant for local models too."""
    timeouts, usual = start.loaded.settings.timeouts, StreamTimeouts()
    first = (timeouts.first_event if timeouts else None) or (start.environment.api_timeout_ms or 0) / 1000
    between = (timeouts.between_events if timeouts else None) or usual.between
    return StreamTimeouts(first or usual.first, between, first or usual.first_local)


def _budget(options: Options, configured: float | None) -> float | None:
    return options.max_budget_usd if options.max_budget_usd is not None else configured


def _effort(said: str | None) -> Any:
    return said if said in ("low", "medium", "high", "xhigh", "max") else None


def _thinking(options: Options) -> Wanted:
    """What is wanted, whichever model is asked: each request fits it to its model."""
    if options.thinking == "disabled" or options.max_thinking_tokens == 0:
        return "off"
    return options.max_thinking_tokens or "adaptive"


def _projection(start: StartContext) -> Any:
    """The transcript in the official SDK's format, written only where that SDK drives us."""
    options, entrypoint = start.options, start.environment.entrypoint
    if not (entrypoint or options.session_mirror) or options.no_session_persistence:
        return None
    from bobstay.context.git_status import branch, find_repository
    from bobstay.sessions.claude_projection import Origin, Projection
    from bobstay.version import PROTOCOL_LEVEL

    repository = find_repository(start.cwd)
    on = branch(repository) if repository else ""
    origin = Origin(start.session_id, start.cwd, PROTOCOL_LEVEL, entrypoint or "cli", on)
    return Projection(start.environment.paths.claude, origin, mirror=options.session_mirror)


def _key_source(environment: Environment) -> str:
    return next((name for name in environment.keys if name.endswith(("_API_KEY", "_AUTH_TOKEN"))), "none")


async def _remove(folder: str) -> None:
    from shutil import rmtree

    rmtree(folder, ignore_errors=True)


def _plain(error: BaseException) -> str:
    if isinstance(error, OSError) and not isinstance(error, LogError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return str(error) or type(error).__name__
