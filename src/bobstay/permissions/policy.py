"""The permission policy of a session: judges what a call would access by rules, then mode, then default."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias
from weakref import WeakSet

import msgspec

from bobstay.model.agent_events import AgentEvent
from bobstay.model.background_events import BackgroundEvent
from bobstay.model.event import (
    Advised,
    ConversationEvent,
    Event,
    InteractionClosed,
    InteractionOpened,
    ModeChanged,
    ModelChanged,
    NoticeEvent,
    PermissionsChanged,
    TasksReplaced,
    ToolDone,
    ToolStarted,
)
from bobstay.model.live_events import LIVE
from bobstay.model.session_events import SessionEvent, WorkerEvent
from bobstay.permissions import suggest as suggestions
from bobstay.permissions.access import Access, Effect, PolicyDecision
from bobstay.permissions.judgement import Judgement, strictness
from bobstay.permissions.mode import PermissionMode, get_mode, mode_problem
from bobstay.permissions.path_resolution import FileSystemView, locate, normalise, read_link
from bobstay.permissions.rule import FAMILIES, Rule
from bobstay.permissions.rulebook import RULE_UPDATES, Rulebook

Input: TypeAlias = dict[str, Any]

PEOPLE = frozenset({"", "person", "host"})
"""Answerers whose denials are remembered; a denial because nobody could be asked is not."""


class Policy:
    """Rules, mode and directories of a session. Only `apply` and setters change it; judging is pure."""

    def __init__(  # noqa: PLR0913 - the one place where a session states all of it
        self,
        mode: str = "default",
        rules: Iterable[Rule] = (),
        *,
        root: str,
        directories: tuple[str, ...] = (),
        home: str,
        can_bypass: bool = False,
        readable: tuple[str, ...] = (),
        read_only: bool = False,
        sandboxed: Callable[[str], bool] | None = None,
        readlink: Callable[[str], str | None] = read_link,
        fold_case: bool | None = None,
        session: "Policy | None" = None,
    ) -> None:
        """`readable`: directories that may be read although they are no working directories, such as spilled output.

        `session`: for a sub-agent, the policy of its session, whose rules and remembered denials it shares.
        """
        if mode_problem(mode, can_bypass=can_bypass) == "bypass_not_launched":
            raise ValueError("bypassPermissions must be enabled when the program is started")
        self._mode = get_mode(mode)
        self._can_bypass = can_bypass
        self.rulebook: Rulebook = Rulebook(rules) if session is None else session.rulebook
        self._options: dict[str, Any] = {"readlink": readlink}
        if fold_case is not None:
            self._options["fold_case"] = fold_case
        self._root = self._origin = normalise(root)
        self._home = home
        self._readable = readable
        self._cwd = self._root
        self._asked: dict[str, tuple[str, bytes]] = {}
        self.refused: dict[tuple[str, bytes], str] = {} if session is None else session.refused
        """Calls that a person denied, with the reason."""
        self.read_only = read_only
        """Only reads are allowed without asking, whatever the mode, the allow rules and the sandbox would allow."""
        self.sandboxed = sandboxed
        """Whether a command would run in the sandbox and may be allowed for that reason; None if that is off."""
        self._session = session
        self._own_mode = False
        self.memory = ""  # the folder of the agent's notes: its Markdown files are judged like those of the root
        self.agents: WeakSet[Policy] = WeakSet()
        """Policies of its sub-agents."""
        self.directories: tuple[str, ...] = ()
        """Working directories besides the root, as absolute paths."""
        self.set_directories(directories)

    def for_agent(self, mode: str = "", root: str = "") -> "Policy":
        """The policy of a sub-agent: the same rules, which stay the same, and a working directory of its own.

        Without a `mode` of its own it has that of the session. While the session may only read, so may its sub-agents.
        """
        session = self._session or self
        other = Policy(
            "default",
            root=root or self._root,
            directories=self.directories,
            home=self._home,
            can_bypass=self._can_bypass,
            readable=self._readable,
            read_only=self.read_only,
            sandboxed=self.sandboxed,
            session=session,
            **self._options,
        )
        if mode and not mode_problem(mode, can_bypass=self._can_bypass):
            other._mode, other._own_mode = get_mode(mode), True
        if not root:
            other.set_cwd(self._cwd)
        session.agents.add(other)
        return other

    @property
    def mode(self) -> str:
        return self.current_mode.name

    @mode.setter
    def mode(self, name: str) -> None:
        """Enter a mode. One that may not be entered is ignored, so that a log cannot lift a restriction."""
        if not mode_problem(name, can_bypass=self._can_bypass):
            self._mode = get_mode(name)

    @property
    def current_mode(self) -> PermissionMode:
        """The mode that was chosen: that of the session, unless a sub-agent has its own."""
        session = self._session
        if session is not None and (not self._own_mode or session.current_mode.read_only):
            return session.current_mode
        return self._mode

    @property
    def _effective_mode(self) -> PermissionMode:
        """The mode in which calls are judged: a read-only one if `read_only` is set."""
        mode = self.current_mode
        if not self.read_only:
            return mode
        return PermissionMode("read-only", "asks before anything but reading", read_only=True, asks=mode.asks)

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self.rulebook.rules

    def judge(self, tool: str, accesses: tuple[Access, ...], input: Input, *, read_only: bool) -> PolicyDecision:
        """Judge a call: deny before ask before allow, whatever the source; then the mode; then the default."""
        decision = self._apply_sandbox_auto_allow(
            self._judge(self._effective_mode, tool, accesses, input, read_only), accesses
        )
        if decision.effect is not Effect.DENY and (why := self.refused.get((tool, _key(input)))) is not None:
            return PolicyDecision(Effect.DENY, why, "session", "remembered")
        if decision.effect is Effect.ASK and not self.current_mode.asks:
            why = f"{decision.why} In dontAsk mode nobody is asked, so it is denied."
            return PolicyDecision(Effect.DENY, why, decision.source, "mode", decision.blocked_path)
        return decision

    def _apply_sandbox_auto_allow(self, decision: PolicyDecision, accesses: tuple[Access, ...]) -> PolicyDecision:
        """Allow a sandboxed command that would be asked about only because no rule covers it."""
        open_ = decision.reason_type == "default" or decision.unanalysed
        if decision.effect is not Effect.ASK or not open_ or not self._effective_mode.sandbox_auto_allow:
            return decision
        commands = [access.target for access in accesses if access.kind == "exec"]
        if self.sandboxed is None or not commands or len(commands) != len(accesses):
            return decision
        if not all(map(self.sandboxed, commands)):
            return decision
        from bobstay.permissions.sandbox_auto_allow import named_outside_path  # only sessions with a sandbox need it

        for command in commands:
            if path := named_outside_path(command, self._cwd, self._view):
                why = f"{decision.why} It is asked about although it runs in the sandbox, because it names {path}."
                return msgspec.structs.replace(decision, why=why)
        why = f"{decision.why} It is allowed without asking because it runs in the sandbox (sandbox.autoAllow)."
        return PolicyDecision(Effect.ALLOW, why, "default", "sandbox")

    def suggest(self, tool: str, accesses: tuple[Access, ...], input: Input) -> tuple[dict[str, Any], ...]:
        """Permission updates that would allow this call next time, narrowest first."""
        decision = self._judge(self._effective_mode, tool, accesses, input, read_only=False)
        if decision.effect is not Effect.ASK or decision.reason_type != "default":
            return ()  # an ask rule, a protected path or plan mode would ask again, whatever rule is added
        found = suggestions.suggest(tool, accesses, view=self._view, cwd=self._cwd)
        modes = [one for one in found if one["type"] == "setMode"]
        rest = tuple(one for one in found if one not in modes)

        def lets_through(*updates: Input) -> bool:
            return self._with_updates(updates).judge(tool, accesses, input, read_only=False).effect is Effect.ALLOW

        # A mode is offered if it suffices alone, with the offered directories, or where the rules alone do not.
        directories = tuple(one for one in rest if one["type"] == "addDirectories")
        helping = [
            one
            for one in modes
            if one["mode"] != self.mode
            and (lets_through(one, *directories) or (lets_through(one, *rest) and not lets_through(*rest)))
        ]
        return (*rest, *helping)

    def _with_updates(self, updates: tuple[Input, ...]) -> "Policy":
        """A copy of this policy with updates applied."""
        other = Policy(
            self.mode,
            self.rules,
            root=self._origin,
            directories=self.directories,
            home=self._home,
            can_bypass=self._can_bypass,
            readable=self._readable,
            read_only=self.read_only,
            **self._options,
        )
        other.set_root(self._root)
        other.set_cwd(self._cwd)
        other.apply(PermissionsChanged(updates))
        return other

    def apply(self, event: Event) -> None:
        """Apply one event of the session's log."""
        if isinstance(event, LIVE):
            return
        match event:
            case ModeChanged(mode=mode):
                self.refused.clear()
                self.mode = mode
            case PermissionsChanged() if self._session is not None:
                pass  # the session's policy applies it to all its agents
            case PermissionsChanged(updates=updates):
                self.refused.clear()
                for update in updates:
                    self._update(update)
                for agent in self.agents:
                    agent.set_directories(self.directories)
            case InteractionOpened(id=identifier, kind="permission", call=call):
                self._asked[identifier] = (call.name, _key(call.input))
            case InteractionClosed(id=identifier, outcome=outcome, message=message, by=by):
                asked = self._asked.pop(identifier, None)
                if asked is not None and outcome == "denied" and by in PEOPLE:
                    self.refused[asked] = message or "A person denied this exact call before."
            case ToolDone(cwd=cwd, root=root) if cwd or root:
                if root:
                    self.set_root(root)
                self.set_cwd(cwd or root)
            case (
                ConversationEvent() | SessionEvent() | WorkerEvent() | BackgroundEvent() | AgentEvent() | NoticeEvent()
            ):
                pass  # they do not change permissions
            case InteractionOpened() | Advised() | ToolStarted() | ToolDone() | TasksReplaced() | ModelChanged():
                pass

    def grant(self, rules: Iterable[str]) -> Callable[[], None]:
        """Allow what these rules allow until the returned function is called. Invalid rules are ignored."""
        return self.rulebook.add(rules, Effect.ALLOW)

    def forbid(self, tools: Iterable[str]) -> None:
        """Deny these tools for the rest of the session."""
        self.rulebook.add(tools, Effect.DENY)

    def set_cwd(self, cwd: str) -> None:
        """Set the shell's current directory: relative paths of the next command start there."""
        self._cwd = normalise(cwd)

    def set_root(self, root: str) -> None:
        """Set the directory the session works in: its own, or a worktree.

        Relative rules then start there. Those that restrict still hold in the session's own directory too.
        """
        self._root = self._cwd = normalise(root)
        self.set_directories(self.directories)

    def denied_tools(self) -> frozenset[str]:
        """Tools that a deny rule without a pattern removes."""
        bare = {rule.tool for rule in self.rulebook.with_effect(Effect.DENY) if not rule.pattern}
        return frozenset(bare.union(*(FAMILIES.get(tool, ()) for tool in bare)))

    def denies_tool(self, name: str) -> bool:
        """Whether a deny rule without a pattern covers a tool, also one with a wildcard, or for a whole MCP server."""
        return any(rule.names(name) for rule in self.rulebook.with_effect(Effect.DENY) if not rule.pattern)

    @property
    def read_filter(self) -> Callable[[str], bool] | None:
        """`denies_reading`, or None if there is no Read deny rule."""
        return (
            self.denies_reading if any(rule.tool == "Read" for rule in self.rulebook.with_effect(Effect.DENY)) else None
        )

    def denies_reading(self, path: str) -> bool:
        """Whether a rule denies reading this file, for tools that find files the call does not name."""
        located = locate(path, self._root, self._view)
        return located.forbidden or any(
            rule.tool == "Read" and rule.covers_path(located, view)
            for rule in self.rulebook.with_effect(Effect.DENY)
            for view in self._views
        )

    def _judge(
        self, mode: PermissionMode, tool: str, accesses: tuple[Access, ...], given: Input, read_only: bool
    ) -> PolicyDecision:
        decisions: list[PolicyDecision] = []
        for view in self._views:
            judgement = Judgement(tool, given, mode=mode, rulebook=self.rulebook, view=view, cwd=self._cwd)
            judgement.readable = self._readable_view
            judgement.memory = FileSystemView(self.memory, self._home, (), **self._options) if self.memory else None
            judgement.read_only = read_only
            found = [judgement.judge_access(access) for access in accesses] or [judgement.judge_unstated()]
            decisions.append(max((judgement.judge_call(), *found), key=strictness))
        return max((decisions[0], *filter(_restricts, decisions[1:])), key=strictness)

    def _update(self, update: dict[str, Any]) -> None:
        kind = update.get("type")
        if kind in RULE_UPDATES:
            self.rulebook.apply(update)
        elif kind == "setMode":
            self.mode = str(update.get("mode", ""))
        elif kind in ("addDirectories", "removeDirectories"):
            given = update.get("directories")
            named = [normalise(self._absolute(one)) for one in given if isinstance(one, str)] if given else []
            kept = [one for one in self.directories if one not in named]
            self.set_directories((*kept, *named) if kind == "addDirectories" else kept)

    def _absolute(self, path: str) -> str:
        if path == "~" or path.startswith("~/"):
            return self._home + path[1:]
        return path if path.startswith("/") else f"{self._root}/{path}"

    def set_directories(self, directories: Iterable[str]) -> None:
        """Replace the working directories besides the root."""
        self.directories = tuple(dict.fromkeys(normalise(self._absolute(one)) for one in directories))
        self._view = FileSystemView(self._root, self._home, self.directories, **self._options)
        self._views = [self._view]
        """In a worktree also the view from the session's own directory, for what restricts."""
        if self._root != self._origin:
            self._views.append(FileSystemView(self._origin, self._home, self.directories, **self._options))
        spill = self._readable[0] if self._readable else ""
        self._readable_view = FileSystemView(spill, self._home, self._readable[1:], **self._options) if spill else None


def _restricts(decision: PolicyDecision) -> bool:
    """Whether a rule or a safety check refuses or asks, rather than the absence of one."""
    return decision.effect is Effect.DENY or (
        decision.effect is Effect.ASK and decision.reason_type in ("rule", "safety")
    )


def _key(given: Input) -> bytes:
    """The same bytes for equal inputs."""
    try:
        return msgspec.json.encode(given, order="sorted")
    except UnicodeEncodeError:  # a lone surrogate, which JSON cannot encode
        return repr(sorted(given.items(), key=lambda pair: pair[0])).encode("utf-8", "backslashreplace")
