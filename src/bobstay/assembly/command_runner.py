"""Calls the commands and skills of a session: for a person who types `/name`, and for the model."""

from collections.abc import Mapping
from typing import Any

from bobstay.assembly.build_agent import parse_effort
from bobstay.assembly.local_commands import BUILT_IN, BUILT_IN_ROWS
from bobstay.assembly.server_connector import ServerConnector
from bobstay.assembly.session_hooks import SessionHooks, read_hook_entries
from bobstay.assembly.session_library import SessionLibrary
from bobstay.assembly.start_context import StartContext
from bobstay.engine.prompt_expansion import ExpandedPrompt
from bobstay.engine.reminders import remind
from bobstay.engine.toolbox import PreparedCall, Refused, Toolbox
from bobstay.engine.turn_hooks import before_expansion, context_of
from bobstay.library.command_call import CommandCall, format_call, split_arguments
from bobstay.library.command_text import Expansion, expand_command
from bobstay.library.definition import CommandDefinition
from bobstay.library.definition_body import BodyUnreadableError, read_body
from bobstay.library.listing import command_rows, slash_names
from bobstay.library.shell_substitution import UnsafeInsertError
from bobstay.model.event import Durable
from bobstay.model.ids import new_id
from bobstay.model.message import Text, ToolCall
from bobstay.permissions.access import Effect
from bobstay.permissions.policy import Policy
from bobstay.tools.agent_service import AgentRequest, AgentService
from bobstay.tools.base import ToolError
from bobstay.tools.skill_service import SkillResult

SHELL = "Bash"
UNKNOWN_COMMAND = "unknown_command"
_UNKNOWN = (
    "<system-reminder>\nThere is no command or skill /{name}: the message below is plain text.\n</system-reminder>"
)
_NO_SHELL = "[shell commands of skills are turned off in the settings]"


class CommandFailedError(Exception):
    """A command cannot be carried out. The text is for the person who called it."""


class CommandRunner:
    """One per session. The toolbox is that of the session's own agent."""

    def __init__(
        self,
        start: StartContext,
        library: SessionLibrary,
        toolbox: Toolbox,
        agents: AgentService,
        servers: ServerConnector,
    ) -> None:
        self._start = start
        self._library = library
        self._toolbox = toolbox
        self._agents = agents
        self._servers = servers

    # ------------------------------------------------------------ for a person

    async def expand(self, call: CommandCall, typed: str) -> ExpandedPrompt:
        """Return what a call that a person typed stands for."""
        command = self._library.current.find_command(call.name)
        if command is None and call.name.startswith("mcp__"):
            return await self._expand_prompt(call, typed)
        if command is None:
            text = _UNKNOWN.format(name=call.name.replace("<", "&lt;"))
            return ExpandedPrompt((Text(typed),), (remind(text, UNKNOWN_COMMAND),))
        if not command.user_invocable:
            text = f"/{call.name} is a skill for the model only: ask for what it does in your own words."
            return self._answered(call, text)
        source = command.origin.label
        hooked = await before_expansion(
            self._toolbox, typed, command=call.name, arguments=call.arguments, source=source
        )
        if hooked.decision == "block" or hooked.stop:
            why = hooked.reason or hooked.stop_reason
            return self._answered(call, f"UserPromptExpansion hook blocked /{call.name}: {why}")
        rules = command.allowed_tools if command.origin.trusted else ()
        try:
            if command.fork:
                return await self._run_fork(command, call)
            text, before = await self._build_text(command, call.arguments, rules)
        except CommandFailedError as error:
            return self._answered(call, str(error))
        self._library.activate(command)
        return ExpandedPrompt(
            (Text(format_call(call)), Text(text)),
            (*before, *context_of(hooked, "UserPromptExpansion")),
            rules=rules,
            model=command.model if command.model != "inherit" else "",
            effort=parse_effort(command.effort),
        )

    def names(self) -> tuple[str, ...]:
        """The names of all commands that a person may call."""
        own = slash_names(self._library.current, self._library.active)
        return (*sorted({*own, *BUILT_IN, *(row["name"] for row in self._prompt_rows())}),)

    def rows(self) -> list[dict[str, Any]]:
        """The same commands, as the answer to `initialize` lists them."""
        own = command_rows(self._library.current, self._library.active)
        return [*own, *self._prompt_rows(), *BUILT_IN_ROWS]

    def _prompt_rows(self) -> list[dict[str, Any]]:
        """The prompts of MCP servers as commands."""
        if self._servers.current is None:
            return []
        commands = self._servers.current.servers.commands()
        return [
            {"name": each.name, "description": each.description, "argumentHint": each.argument_hint}
            for each in commands
        ]

    async def _expand_prompt(self, call: CommandCall, typed: str) -> ExpandedPrompt:
        """Return what a prompt of an MCP server says."""
        from bobstay.mcp.mcp_servers import McpRequestError

        servers = self._servers.connect().servers
        if not any(each.name == call.name for each in servers.commands()):
            text = _UNKNOWN.format(name=call.name.replace("<", "&lt;"))
            return ExpandedPrompt((Text(typed),), (remind(text, UNKNOWN_COMMAND),))
        try:
            parts = await servers.run_prompt(
                call.name, split_arguments(call.arguments), self._toolbox.tool_environment.spill
            )
        except McpRequestError as error:
            return self._answered(call, str(error))
        return ExpandedPrompt((Text(format_call(call)), *parts))

    def _answered(self, call: CommandCall, answer: str) -> ExpandedPrompt:
        """The prompt of a command that ended without the model, which reads of it with the next prompt."""
        told = f"<local-command-stderr>{answer}</local-command-stderr>"
        return ExpandedPrompt((Text(format_call(call)), Text(told)), answer=answer)

    async def _run_fork(self, command: CommandDefinition, call: CommandCall) -> ExpandedPrompt:
        result = await self._fork(command, call.arguments, f"forked-command-{call.name}")
        told = f"<local-command-stdout>{result.text}</local-command-stdout>"
        return ExpandedPrompt((Text(format_call(call)), Text(told)), answer=result.text)

    # ------------------------------------------------------------ for the model

    def needs_permission(self, name: str) -> bool:
        command = self._library.current.find_command(name)
        return command is not None and command.has_powers

    async def call(self, name: str, arguments: str, call_id: str) -> SkillResult:
        command = self._library.current.find_command(name)
        if command is None:
            raise ToolError(f"There is no skill {name}. Call only those that are listed in this conversation.")
        if not command.model_invocable:
            raise ToolError(f"{name} can be called by people only.")
        if not command.origin.trusted:
            raise ToolError(f"{name} comes from a folder that nobody has trusted, so it is not carried out.")
        try:
            if command.fork:
                return await self._fork(command, arguments, call_id)
            text, _ = await self._build_text(command, arguments, command.allowed_tools)
        except CommandFailedError as error:
            raise ToolError(str(error)) from error
        self._library.activate(command)
        self._toolbox.grant_for_turn(command.allowed_tools)
        return SkillResult(command.name, text, command.allowed_tools)

    # ------------------------------------------------------------ both

    async def _fork(self, command: CommandDefinition, arguments: str, call_id: str) -> SkillResult:
        text, _ = await self._build_text(command, arguments, ())
        request = AgentRequest(
            call_id, command.name, text, command.agent or "general-purpose", command.model, background=False
        )
        started, ended = await self._agents.run(request)
        if ended.status != "completed":
            raise CommandFailedError(ended.summary)
        return SkillResult(command.name, ended.text, agent=started.id)

    async def _build_text(
        self, command: CommandDefinition, arguments: str, rules: tuple[str, ...]
    ) -> tuple[str, list[Durable]]:
        """Return the text of a call, with the output of its inserts, and the files it mentions.

        Raises:
            CommandFailedError: it cannot be read, or an insert is not allowed or fails.
        """
        try:
            body = read_body(command)
            expansion = expand_command(command, body.text, arguments, self._variables())
        except (BodyUnreadableError, UnsafeInsertError) as error:
            raise CommandFailedError(str(error)) from error
        text = expansion.join(await self._run_inserts(expansion, rules if not body.changed else ()))
        attach = self._toolbox.attach
        before = await attach((Text(text),)) if attach is not None and expansion.mentions else []
        base = f"Base directory for this skill: {command.folder}\n\n" if command.folder else ""
        return base + text, before

    async def _run_inserts(self, expansion: Expansion, rules: tuple[str, ...]) -> list[str]:
        if not expansion.inserts:
            return []
        if self._start.loaded.settings.disable_skill_shell_execution:
            return [_NO_SHELL for _ in expansion.inserts]
        revoke = self._toolbox.judge.grant(rules)
        try:
            return [await self._run_insert(insert.command) for insert in expansion.inserts]
        finally:
            revoke()

    async def _run_insert(self, command: str) -> str:
        toolbox, call = self._toolbox, ToolCall(f"insert_{new_id()}", SHELL, {"command": command})
        try:
            prepared = toolbox.prepare(call, lambda _: None)
            decision = toolbox.judge.judge(SHELL, prepared.accesses, prepared.input, read_only=prepared.read_only)
            if decision.effect is not Effect.ALLOW:
                raise CommandFailedError(
                    f"The command was not carried out, because it runs `{command}`, which is not allowed: "
                    f"{decision.why} Allow it by a rule, or by allowed-tools of the command in a trusted folder."
                )
            await toolbox.check(prepared)
            return await _run_shell(prepared, command)
        except (Refused, ToolError) as error:
            raise CommandFailedError(f"The command was not carried out: `{command}`: {error}") from error

    def _variables(self) -> Mapping[str, str]:
        return {
            "CLAUDE_SESSION_ID": self._start.session_id,
            "CLAUDE_PROJECT_DIR": self._start.cwd,
            "CLAUDE_EFFORT": self._toolbox.facts.effort or "",
        }


def activate_skill(start: StartContext, hooks: SessionHooks, policy: Policy, command: CommandDefinition) -> None:
    """Apply what a skill brings for the rest of the session: its hooks, and the tools it forbids."""
    if not command.origin.trusted:
        return
    if command.disallowed_tools:
        policy.forbid(command.disallowed_tools)
    if command.hooks:
        folder = start.cwd if command.origin.source in ("project", "added") else ""
        found, notices = read_hook_entries(
            command.hooks, command.origin.file, variables=command.variables, folder=folder
        )
        start.warnings.extend(notices)
        hooks.add(found)


async def _run_shell(prepared: PreparedCall, command: str) -> str:
    outcome = await prepared.tool.run(prepared.args, prepared.context)
    shown = outcome.display if isinstance(outcome.display, dict) else {}
    if outcome.is_error:
        said = str(shown.get("stderr") or shown.get("stdout") or outcome.content).strip()
        raise CommandFailedError(f"The command was not carried out: `{command}` failed: {said[:2_000]}")
    return str(shown.get("stdout", ""))
