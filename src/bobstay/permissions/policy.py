"""The permission policy of a session: judges what a call would touch by rules, then mode, then default."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec

from bobstay.model.event import Event, InteractionClosed, InteractionOpened, ModeChanged, PermissionsChanged, ToolDone
from bobstay.permissions import suggest as suggestions
from bobstay.permissions.access import Access, Effect, PolicyDecision
from bobstay.permissions.judgement import Judgement, strength
from bobstay.permissions.mode import PermissionMode, mode_named, problem
from bobstay.permissions.path_resolution import PathWorld, locate, normalise, read_link
from bobstay.permissions.rule import FAMILIES, Rule
from bobstay.permissions.rulebook import RULE_UPDATES, Rulebook

Input: TypeAlias = dict[str, Any]

PEOPLE = frozenset({"", "person", "host"})
"""Whose refusals are remembered. A refusal because nobody could be asked is not one of them."""


class Policy:
    """Follows the log through `apply`; everything else is a pure question."""

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
        readlink: Callable[[str], str | None] = read_link,
        fold_case: bool | None = None,
    ) -> None:
        """`readable`: directories, such as that of spilled output, that may be read though nobody works in them."""
        if problem(mode, can_bypass=can_bypass) == "bypass_not_launched":
            raise ValueError("bypassPermissions must be made possible when the program is started")
        self._mode = mode_named(mode)
        self._can_bypass = can_bypass
        self._book = Rulebook(rules)
        self._options: dict[str, Any] = {"readlink": readlink}
        if fold_case is not None:
            self._options["fold_case"] = fold_case
        self._root = normalise(root)
        self._home = home
        self._readable = readable
        self._cwd = self._root
        self._asked: dict[str, tuple[str, bytes]] = {}
        self._refused: dict[tuple[str, bytes], str] = {}
        self.read_only = False
        """Only reading goes without asking, in whatever mode, whatever rules allow and wherever it would run."""
        self.sandboxed: Callable[[str], bool] | None = None
        """Whether a command would run in a sandbox, and need not be asked about for want of a rule."""
        self.directories: tuple[str, ...] = ()
        """Working directories beside the root, absolute."""
        self._set_directories(directories)

    @property
    def mode(self) -> str:
        return self._mode.name

    @mode.setter
    def mode(self, name: str) -> None:
        """Enter a mode; one that may not be entered is left alone, so that a log can never lift a restriction."""
        if not problem(name, can_bypass=self._can_bypass):
            self._mode = mode_named(name)

    @property
    def _judging(self) -> PermissionMode:
        """The mode as calls are judged in it."""
        if not self.read_only:
            return self._mode
        return PermissionMode("read-only", "asks before anything but reading", looks_only=True, asks=self._mode.asks)

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self._book.rules

    def judge(self, tool: str, accesses: tuple[Access, ...], input: Input, *, read_only: bool) -> PolicyDecision:
        """Decide a call: deny over ask over allow, whatever the source; then the mode; then the default."""
        decision = self._boxed(self._judge(self._judging, tool, accesses, input, read_only), accesses)
        if decision.verdict is not Effect.DENY and (why := self._refused.get((tool, _key(input)))) is not None:
            return PolicyDecision(Effect.DENY, why, "session", "remembered")
        if decision.verdict is Effect.ASK and not self._mode.asks:
            why = f"{decision.why} In dontAsk mode nobody is asked, so this is refused."
            return PolicyDecision(Effect.DENY, why, decision.source, "mode", decision.blocked_path)
        return decision

    def _boxed(self, decision: PolicyDecision, accesses: tuple[Access, ...]) -> PolicyDecision:
        """Let a command run in the sandbox that would be asked about only because no rule speaks of it."""
        open_ = decision.reason_type == "default" or decision.unread
        if decision.verdict is not Effect.ASK or not open_ or not self._judging.boxes:
            return decision
        commands = [access.target for access in accesses if access.kind == "exec"]
        if self.sandboxed is None or not commands or len(commands) != len(accesses):
            return decision
        if not all(map(self.sandboxed, commands)):
            return decision
        from bobstay.permissions.sandbox_auto_allow import outside  # only sessions with a sandbox pay for it

        for command in commands:
            if path := outside(command, self._cwd, self._world):
                why = f"{decision.why} That it runs in the sandbox spares no question, because it names {path}."
                return msgspec.structs.replace(decision, why=why)
        why = f"{decision.why} The question is spared: the command runs in the sandbox (sandbox.autoAllow)."
        return PolicyDecision(Effect.ALLOW, why, "default", "sandbox")

    def suggest(self, tool: str, accesses: tuple[Access, ...], input: Input) -> tuple[dict[str, Any], ...]:
        """Permission updates that would let this call through next time, narrowest first."""
        decision = self._judge(self._judging, tool, accesses, input, read_only=False)
        if decision.verdict is not Effect.ASK or decision.reason_type != "default":
            return ()  # an ask rule, a protected path or plan mode would ask again, whatever was added
        found = suggestions.suggest(tool, accesses, world=self._world, cwd=self._cwd)
        modes = [one for one in found if one["type"] == "setMode"]
        rest = tuple(one for one in found if one not in modes)

        def lets_through(*updates: Input) -> bool:
            return self._changed(updates).judge(tool, accesses, input, read_only=False).verdict is Effect.ALLOW

        # A mode helps by itself, in the directories offered along with it, or where the rules alone would not do.
        directories = tuple(one for one in rest if one["type"] == "addDirectories")
        helping = [
            one
            for one in modes
            if one["mode"] != self.mode
            and (lets_through(one, *directories) or (lets_through(one, *rest) and not lets_through(*rest)))
        ]
        return (*rest, *helping)

    def _changed(self, updates: tuple[Input, ...]) -> "Policy":
        """Another policy, such as this would be after some updates."""
        other = Policy(
            self.mode,
            self.rules,
            root=self._root,
            directories=self.directories,
            home=self._home,
            can_bypass=self._can_bypass,
            readable=self._readable,
            **self._options,
        )
        other.read_only = self.read_only
        other.stands_in(self._cwd)
        other.apply(PermissionsChanged(updates))
        return other

    def apply(self, event: Event) -> None:
        """Follow one event of the session's log."""
        match event:
            case ModeChanged(mode=mode):
                self._refused.clear()
                self.mode = mode
            case PermissionsChanged(updates=updates):
                self._refused.clear()
                for update in updates:
                    self._update(update)
            case InteractionOpened(id=identifier, kind="permission", call=call):
                self._asked[identifier] = (call.name, _key(call.input))
            case InteractionClosed(id=identifier, outcome=outcome, message=message, by=by):
                asked = self._asked.pop(identifier, None)
                if asked is not None and outcome == "denied" and by in PEOPLE:
                    self._refused[asked] = message or "A person refused this very call before."
            case ToolDone(cwd=cwd) if cwd:
                self.stands_in(cwd)
            case _:
                pass  # the rest of the log is no business of permissions

    def stands_in(self, cwd: str) -> None:
        """Where the shell stands: relative paths of the next command start there."""
        self._cwd = normalise(cwd)

    def denied_tools(self) -> frozenset[str]:
        """Tools a bare deny rule takes out of the pool. Patterns over names are asked about by `removes`."""
        bare = {rule.tool for rule in self._book.of(Effect.DENY) if not rule.pattern}
        return frozenset(bare.union(*(FAMILIES.get(tool, ()) for tool in bare)))

    @property
    def hides(self) -> Callable[[str], bool] | None:
        """`denies_reading` where a rule makes it worth asking, else None."""
        return self.denies_reading if any(rule.tool == "Read" for rule in self._book.of(Effect.DENY)) else None

    def denies_reading(self, path: str) -> bool:
        """Whether a rule denies reading this file, for tools that come upon files nobody named."""
        located = locate(path, self._root, self._world)
        return located.hopeless or any(
            rule.tool == "Read" and rule.covers_path(located, self._world) for rule in self._book.of(Effect.DENY)
        )

    def removes(self, tool: str) -> bool:
        """Whether a bare deny rule, `mcp__*` included, takes this tool out of the pool."""
        return any(not rule.pattern and rule.names(tool) for rule in self._book.of(Effect.DENY))

    def _judge(
        self, mode: PermissionMode, tool: str, accesses: tuple[Access, ...], given: Input, read_only: bool
    ) -> PolicyDecision:
        judgement = Judgement(tool, given, mode=mode, book=self._book, world=self._world, cwd=self._cwd)
        judgement.readable = self._readable_world
        judgement.read_only = read_only
        found = [judgement.of(access) for access in accesses] or [judgement.of_unknown()]
        return max((judgement.of_call(), *found), key=strength)

    def _update(self, update: dict[str, Any]) -> None:
        kind = update.get("type")
        if kind in RULE_UPDATES:
            self._book.apply(update)
        elif kind == "setMode":
            self.mode = str(update.get("mode", ""))
        elif kind in ("addDirectories", "removeDirectories"):
            given = update.get("directories")
            named = [normalise(self._absolute(one)) for one in given if isinstance(one, str)] if given else []
            kept = [one for one in self.directories if one not in named]
            self._set_directories((*kept, *named) if kind == "addDirectories" else kept)

    def _absolute(self, path: str) -> str:
        if path == "~" or path.startswith("~/"):
            return self._home + path[1:]
        return path if path.startswith("/") else f"{self._root}/{path}"

    def _set_directories(self, directories: Iterable[str]) -> None:
        self.directories = tuple(dict.fromkeys(normalise(self._absolute(one)) for one in directories))
        self._world = PathWorld(self._root, self._home, self.directories, **self._options)
        spill = self._readable[0] if self._readable else ""
        self._readable_world = PathWorld(spill, self._home, self._readable[1:], **self._options) if spill else None


def _key(given: Input) -> bytes:
    """One spelling for equal inputs."""
    try:
        return msgspec.json.encode(given, order="sorted")
    except UnicodeEncodeError:  # half a character, which JSON cannot hold
        return repr(sorted(given.items(), key=lambda pair: pair[0])).encode("utf-8", "backslashreplace")
