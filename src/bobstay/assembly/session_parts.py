"""Parts that all agents of a session share: log, permissions, hooks, library, tools and shell."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from bobstay.assembly.background_commands import BackgroundCommands
from bobstay.assembly.hook_lifecycle import make_ports, make_sinks
from bobstay.assembly.session_hooks import HookWatcher, SessionHooks, build_hooks
from bobstay.assembly.session_instructions import build_instruction_files
from bobstay.assembly.session_library import SessionLibrary, add_plugin_hooks, find_lead, load_library
from bobstay.assembly.session_policy import initial_mode, make_policy
from bobstay.assembly.start_context import StartContext
from bobstay.assembly.tool_services import build_services, build_shells, build_tool_registry, find_language_servers
from bobstay.assembly.trust_policy import child_environment
from bobstay.context.instructions import InstructionFiles
from bobstay.engine.auto_mode import Advisor
from bobstay.engine.engine_ports import Approver
from bobstay.engine.hook_notes import HookNotes
from bobstay.engine.journal import Journal
from bobstay.engine.running_agent import RunningAgents
from bobstay.engine.state import State
from bobstay.hooks.hook_event import Hooks
from bobstay.library.definition import AgentDefinition
from bobstay.permissions.policy import Policy
from bobstay.tools.base import Tool, ToolServices
from bobstay.tools.shell_session import ShellSession
from bobstay.tools.tool_registry import ToolRegistry

if TYPE_CHECKING:
    from bobstay.tools.lsp.language_servers import LanguageServers


class SharedTools(Struct):
    """The tools there are for agents; those of MCP servers come and go."""

    registry: ToolRegistry
    hidden: frozenset[str] = frozenset()
    """Tools whose schemas are sent only after a search."""
    found: frozenset[str] = frozenset()
    """Those that a search of the session's own agent loaded."""


class SessionParts(Struct, frozen=True, kw_only=True):
    start: StartContext
    journal: Journal
    policy: Policy
    can_bypass: bool
    approver: Approver
    hooks: SessionHooks
    notes: HookNotes
    background: BackgroundCommands
    running: RunningAgents
    library: SessionLibrary
    lead: AgentDefinition | None
    """The definition of the session's own agent, if one is chosen."""
    instructions: InstructionFiles
    languages: "LanguageServers | None"
    services: ToolServices
    tools: SharedTools
    shells: ShellSession
    environment: dict[str, str]
    spill: Path

    @property
    def initial_prompt(self) -> str:
        """What the session's own agent is told first, in a conversation that begins now; "" for nothing."""
        is_new = self.start.predecessor is None and not self.journal.state.messages
        return self.lead.initial_prompt if self.lead is not None and is_new else ""

    def build_advisor(self) -> Advisor:
        """Build the auto mode judge; called when it is first needed."""
        from bobstay.assembly.auto_mode_judge import SmallModel, choose_small_model

        start, journal = self.start, self.journal
        lists = start.loaded.settings.auto_mode
        return SmallModel(
            start.routes,
            lambda: choose_small_model(lists.model, journal.state.model or start.model),
            lists,
            start.redactor,
            cwd=start.cwd,
        )


def build_parts(
    start: StartContext, approver: Approver, host: Hooks, tools: tuple[Tool[Any], ...], watcher: HookWatcher | None
) -> SessionParts:
    """Build the parts, each from those before it."""
    mode, can_bypass = initial_mode(start)
    journal = Journal(start.history.log, _restore_state(start, mode))
    spill = Path(start.environment.paths.bobstay, "output", start.session_id)
    shells = build_shells(start, spill)
    policy = make_policy(start, mode, can_bypass=can_bypass, readable=(str(spill),), sandbox=shells.sandbox)
    environment, running, notes = child_environment(start), RunningAgents(), HookNotes()
    background = BackgroundCommands(journal, shells, lambda: running.of(""))
    hooks = build_hooks(
        start,
        host,
        environment,
        watcher,
        ports=lambda: make_ports(start, journal),
        sinks=lambda: make_sinks(notes, background),
    )
    library, languages = load_library(start), find_language_servers(start)
    add_plugin_hooks(start, library, hooks)
    hooks.bind((*library.current.agents, *library.current.commands))
    instructions = build_instruction_files(start, policy)
    services = build_services(start, policy, shells, journal, instructions, library, languages)
    registry = build_tool_registry(start, policy, services, tools, can_ask=approver.can_ask)
    start.warnings.extend(registry.warnings)
    return SessionParts(
        start=start,
        journal=journal,
        policy=policy,
        can_bypass=can_bypass,
        approver=approver,
        hooks=hooks,
        notes=notes,
        background=background,
        running=running,
        library=library,
        lead=find_lead(start, library),
        instructions=instructions,
        languages=languages,
        services=services,
        tools=SharedTools(registry),
        shells=shells,
        environment=environment,
        spill=spill,
    )


def _restore_state(start: StartContext, mode: str) -> State:
    state = State()
    for envelope in start.history.branch:
        state = state.apply_child(envelope.event) if envelope.agent else state.apply(envelope.event)
    # The permission mode comes from this start and not from the log, so that a resume never grants more than asked for.
    model, chosen = ("", "") if start.options.model else (state.model, state.chosen)
    return msgspec.structs.replace(state, mode=mode, running=False, model=model, chosen=chosen)
