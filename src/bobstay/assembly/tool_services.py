"""Tool services: builds the services that a session's tools use, and its tool registry."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bobstay.assembly.session_library import SessionLibrary
from bobstay.assembly.start_context import StartContext
from bobstay.assembly.trust_policy import child_environment, inherited_variables
from bobstay.context.instructions import InstructionFiles, as_reminder
from bobstay.engine.journal import Journal
from bobstay.engine.toolbox import Attach, Toolbox
from bobstay.git_files.git_directory import find_repository
from bobstay.model.event import Durable
from bobstay.model.message import Block
from bobstay.permissions.access import Access, Effect, PolicyDecision
from bobstay.permissions.policy import Policy
from bobstay.tools.base import Tool, ToolServices
from bobstay.tools.shell_session import DEFAULT_LIMITS, ShellLimits, ShellSession
from bobstay.tools.tool_registry import ToolRegistry

if TYPE_CHECKING:
    from bobstay.tools.lsp.language_servers import LanguageServers
    from bobstay.tools.search_engines import SearchEngine

COORDINATING = ("Agent", "AskUserQuestion", "SendMessage", "TaskStop")
"""The tools of an agent that only coordinates others."""
SEARCH_BY_KEY = {"SEARXNG_URL": "searxng", "BRAVE_API_KEY": "brave", "TAVILY_API_KEY": "tavily"}


def build_services(
    start: StartContext,
    policy: Policy,
    shells: ShellSession,
    journal: Journal,
    instructions: InstructionFiles,
    library: SessionLibrary,
    languages: "LanguageServers | None",
) -> ToolServices:
    """Build the services of an agent; the language servers are those of its session."""

    def enter(path: str) -> str:
        skills = library.enter(path)
        reminder = instructions.enter(path)
        return "\n\n".join(part for part in (reminder, as_reminder(skills) if skills else "") if part)

    def may_fetch(url: str) -> PolicyDecision:
        return policy.judge("WebFetch", (Access("net", url),), {"url": url}, read_only=True)

    return ToolServices(
        shells=shells,
        instructions_for=enter,
        schema=start.options.json_schema,
        search=_choose_search_engine(start),
        network=start.environment.network,
        may_fetch=may_fetch,
        denied_reads=lambda: policy.read_filter,
        tasks=lambda: journal.state.tasks,
        last_task_id=lambda: journal.state.last_task_id,
        plan_file=Path(start.environment.paths.bobstay, "plans", f"{start.session_id}.md"),
        worktree=start.loaded.settings.worktree,
        languages=languages,
        is_unread=journal.is_unread,
        console_socket=os.path.join(start.environment.paths.bobstay, "server", "rpc.sock"),
    )


def build_shells(start: StartContext, spill: Path) -> ShellSession:
    """Build the shell session. `spill` is the folder for long output."""
    sandbox = None
    if start.loaded.settings.sandbox.enabled:
        from bobstay.assembly.session_sandbox import build_sandbox

        sandbox = build_sandbox(start, str(spill))
    withheld = {*start.environment.withheld, *start.loaded.settings.variables} - inherited_variables(start).keys()
    return ShellSession(
        start.session_id,
        limits=_shell_limits(start),
        redactor=start.redactor,
        withheld=frozenset(withheld),
        sandbox=sandbox,
    )


def build_tool_registry(
    start: StartContext, policy: Policy, services: ToolServices, tools: tuple[Tool[Any], ...], *, can_ask: bool
) -> ToolRegistry:
    available: set[Any] = {
        "agents",
        *(() if start.options.disable_slash_commands else ("skills",)),
        *(("person",) if can_ask else ()),
    }
    if services.search is not None:
        available.add("search")
    if start.routes.info(start.model).patches:
        available.add("patch")
    if find_repository(start.cwd) is not None:
        available.add("repository")
    if services.languages is not None:
        available.add("languages")
    if uses_task_tools(start):
        available.add("tasks")
    return ToolRegistry.load(
        available=available,
        base=start.options.tools,
        removed=policy.denied_tools(),
        schema=start.options.json_schema,
        extra=tools,
    )


def coordinates(start: StartContext) -> bool:
    """Whether the session's own agent only coordinates others."""
    return start.options.coordinator or start.loaded.settings.coordinator is True


def select_for_coordinator(registry: ToolRegistry) -> ToolRegistry:
    """The tools of an agent that only coordinates others.

    Raises:
        ValueError: it could start none.
    """
    schema = (entry.name for entry in registry.entries if entry.needs == "schema")
    selected = registry.select((*COORDINATING, *schema))
    if "Agent" not in selected.names:
        raise ValueError(
            "Coordinator mode needs the Agent tool, which --tools or a deny rule takes away. Offer it, or leave "
            "coordinator mode."
        )
    return selected


def uses_task_tools(start: StartContext) -> bool:
    """Whether single tasks are kept, not a list that is written as a whole. The variable comes before the setting."""
    if start.environment.task_tools is not None:
        return start.environment.task_tools
    return start.loaded.settings.task_tools is True


def can_use_hosted_search(start: StartContext, policy: Policy, services: ToolServices) -> bool:
    """Whether to offer the vendor's own search: only if a rule allows all of it, as its calls cannot be approved."""
    own_server = any(name.endswith("_BASE_URL") for name in start.environment.keys)
    if services.search is not None or own_server or start.options.tools is not None:
        return False
    decision = policy.judge("WebSearch", (Access("net", ""),), {"query": ""}, read_only=True)
    return decision.effect is Effect.ALLOW and decision.reason_type == "rule"


def attach_mentioned(toolbox: Toolbox) -> Attach:
    """Return what attaches the files that a prompt mentions."""

    async def attach(blocks: tuple[Block, ...]) -> list[Durable]:
        from bobstay.assembly.mentioned_files import attach_mentions

        return await attach_mentions(toolbox, blocks)

    return attach


def find_language_servers(start: StartContext) -> "LanguageServers | None":
    """Return the language servers of this machine; None if there is none.

    A server reads and may run what is in the folder, outside the sandbox: not in an untrusted folder, nor where
    commands are to run in a sandbox.
    """
    settings = start.loaded.settings
    if not start.loaded.trusted or settings.sandbox.enabled:
        return None
    from bobstay.tools.lsp.server_table import find_servers

    environment = child_environment(start)
    found = find_servers(settings.lsp, start.cwd, environment)
    if not found:
        return None
    from bobstay.tools.lsp.language_servers import LanguageServers

    diagnose = settings.lsp is None or settings.lsp.diagnose_edits is not False
    return LanguageServers(found, environment, start.session_id, diagnose_edits=diagnose)


def _shell_limits(start: StartContext) -> ShellLimits:
    """Read the limits: settings come before variables."""
    settings, environment = start.loaded.settings.bash, start.environment
    timeout = (settings.timeout if settings else None) or (environment.bash_timeout_ms or 0) / 1000
    longest = (settings.longest_timeout if settings else None) or (environment.bash_longest_ms or 0) / 1000
    output = (settings.output_length if settings else None) or environment.bash_output_length
    return ShellLimits(
        timeout or DEFAULT_LIMITS.default_timeout,
        longest or DEFAULT_LIMITS.max_timeout,
        (settings.background_after if settings else None) or None,
        max(output, 2_000) if output else DEFAULT_LIMITS.output,
    )


def _choose_search_engine(start: StartContext) -> "SearchEngine | None":
    """Return the configured search engine, or one whose key is in the environment; None if there is none."""
    configured, keys = start.loaded.settings.search, start.environment.search
    kind: str = (configured.kind if configured else "") or ""
    if not kind:
        kind = next((name for variable, name in SEARCH_BY_KEY.items() if keys.get(variable)), "")
    if not kind:
        return None
    from bobstay.tools.search_engines import SearchEngine

    url = (configured.url if configured else "") or (keys.get("SEARXNG_URL", "") if kind == "searxng" else "")
    named = (
        start.environment.all_variables.get(configured.key_variable, "")
        if configured and configured.key_variable
        else ""
    )
    key = named or next(
        (keys[variable] for variable, name in SEARCH_BY_KEY.items() if name == kind and variable in keys), ""
    )
    return msgspec.convert({"kind": kind, "url": url, "key": "" if kind == "searxng" else key}, SearchEngine)
