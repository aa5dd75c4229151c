"""Permission rules such as `Bash(git log:*)`: parsed once, matched without side effects.

A deny or ask rule is matched generously (any plausible reading of the call is enough), an allow rule
strictly (every reading must match): see `docs/permissions.md`.
"""

from functools import lru_cache
from typing import Any

from msgspec import Struct

from bobstay.permissions.access import Effect
from bobstay.permissions.host_rules import Address, HostPattern
from bobstay.permissions.path_pattern import BadPattern, PathPattern, matches_wildcard
from bobstay.permissions.path_resolution import FileSystemView, Located, composed, folded, is_device, within

FAMILIES: dict[str, frozenset[str]] = {
    "Read": frozenset({"Read", "Glob", "Grep"}),
    "Edit": frozenset({"Edit", "Write", "NotebookEdit", "ApplyPatch"}),
}
"""A rule for the key covers all tools of its family."""
PATH_TOOLS = frozenset().union(*FAMILIES.values())
ALIASES = {"Task": "Agent", "MultiEdit": "Edit", "NotebookRead": "Read", "LS": "Glob", "KillBash": "KillShell"}
SUBJECTS = {
    "Agent": ("subagent_type", "type"),
    "SendMessage": ("to",),
    "Skill": ("skill", "command", "name"),
    "WebSearch": ("query",),
}
"""The input field a rule's pattern is compared with, for tools that touch neither path, command nor host."""
BEHAVIORS = {"allow": Effect.ALLOW, "ask": Effect.ASK, "deny": Effect.DENY}
"""The names of the lists in a settings file, and of behaviors on the wire."""
LONGEST = 10_000


class BadRule(ValueError):  # noqa: N818 - it names a thing, not an event
    """A rule that cannot be parsed. The message says what was expected."""


class Rule(Struct, frozen=True):
    """One entry of a permission list. `pattern` is empty for a rule about every use of the tool."""

    effect: Effect
    tool: str
    pattern: str = ""
    source: str = "session"
    path: "PathRule | None" = None
    host: HostPattern | None = None

    @classmethod
    def parse(cls, text: str, effect: Effect, source: str = "session") -> "Rule":
        """Parse a rule as written in settings. Raises `BadRule`."""
        text = text.strip()
        if not text:
            raise BadRule("the rule is empty: expected Tool or Tool(pattern), such as Read or Bash(git log:*)")
        if len(text) > LONGEST:
            raise BadRule(f"the rule is longer than {LONGEST} characters")
        tool, bracket, rest = text.partition("(")
        if bracket and not rest.endswith(")"):
            raise BadRule(f"{text!r} has no closing bracket at its end: expected Tool(pattern)")
        pattern = rest[:-1].strip() if bracket else ""
        if bracket and not pattern:
            raise BadRule(f"{text!r} has nothing in its brackets: write {tool} alone for every use of the tool")
        tool = ALIASES.get(tool.strip(), tool.strip())
        _check_name(text, tool, effect)
        if pattern == "*":
            pattern = ""
        try:
            return cls(effect, tool, pattern, source, *_compile(tool, pattern, effect))
        except BadPattern as error:
            raise BadRule(f"{text!r}: {error}") from None

    @property
    def text(self) -> str:
        return f"{self.tool}({self.pattern})" if self.pattern else self.tool

    @property
    def generous(self) -> bool:
        return self.effect is not Effect.ALLOW

    def names(self, tool: str) -> bool:
        """Whether the part before the brackets covers `tool`."""
        if tool == self.tool or tool in FAMILIES.get(self.tool, ()):
            return True
        if tool.startswith("mcp__"):
            return self._names_mcp(tool)
        return self.generous and "*" in self.tool and matches_wildcard(self.tool, tool)

    def covers_call(self, tool: str, input: dict[str, Any]) -> bool:
        """Whether the rule covers this call as a whole, whatever it would access."""
        if not self.names(tool):
            return False
        if not self.pattern:
            return True
        if self.path is not None or self.host is not None or tool == "Bash":
            return False
        if not self.generous:
            values = [input.get(field) for field in SUBJECTS.get(tool, ())]
            given = [value for value in values if isinstance(value, str)]
            # An address has a colon of its own: `SendMessage(bridge:*)` is about all sessions of the console.
            matches = matches_wildcard if tool == "SendMessage" else _matches_text
            return bool(given) and all(matches(self.pattern, value) for value in given)
        return any(
            _matches_text(self.pattern, value)
            or _matches_text(self.pattern, f"{field}:{value}")
            or matches_wildcard(self.pattern, value)
            for field, value in input.items()
            if isinstance(value, str)
        )

    def covers_peer(self, tool: str, input: dict[str, Any], target: str) -> bool:
        """Whether a rule that restricts covers a message to `target`; one that names no session may mean any there."""
        names_none = target == "bridge:" or (target.startswith("uds:") and "#" not in target)
        is_about_one = names_none and self.names(tool) and bool(self.pattern) and self.pattern.startswith(target)
        return is_about_one or self.covers_call(tool, input)

    def covers_path(self, located: Located, view: FileSystemView) -> bool:
        """Whether the rule covers this path; a rule without a pattern covers every path but devices."""
        if self.path is None:
            return not self.pattern and (self.generous or not is_device(located))
        return self.path.matches(located, view, generously=self.generous)

    def covers_host(self, address: Address) -> bool:
        if self.host is None:
            return not self.pattern and (self.generous or address.public)
        return self.host.matches(address, generously=self.generous)

    def covers_command(self, text: str) -> bool:
        """Whether the rule covers this text of one simple command."""
        if self.pattern.startswith("command:"):
            return False
        return not self.pattern or any(command_matches(form, text) for form in _command_forms(self.pattern))

    def covers_text_from(self, text: str, starts: tuple[int, ...]) -> bool:
        """Whether the rule covers a command that begins at one of these offsets of the text."""
        if self.pattern.startswith("command:"):
            return False
        if not self.pattern:
            return True
        if len(starts) == 1 and starts[0] == 0:
            return self.covers_command(text)
        return any(_begins(form, text, starts) for form in _command_forms(self.pattern))

    @property
    def exact(self) -> bool:
        """Whether it covers one command text and no other."""
        return bool(self.pattern) and "*" not in self.pattern

    def spells(self, text: str) -> bool:
        """Whether it is exactly this text; a `*` in it counts as a literal character."""
        return bool(self.pattern) and (
            text in _command_forms(self.pattern) or text == _normalised_command(self.pattern)
        )

    def _names_mcp(self, tool: str) -> bool:
        server, _, name = tool.removeprefix("mcp__").partition("__")
        if not self.generous and (not is_simple_name(server) or not name):
            return False
        if self.tool == f"mcp__{server}":
            return True
        if self.generous:
            return matches_wildcard(self.tool, tool)
        return self.tool.startswith(f"mcp__{server}__") and matches_wildcard(self.tool, tool)


def check(text: str, behavior: str) -> None:
    """Raise `BadRule` for a rule that means nothing in the list `allow`, `ask` or `deny`."""
    Rule.parse(text, BEHAVIORS[behavior])


def command_matches(pattern: str, text: str) -> bool:
    """Match one command text: `*` matches anything, a trailing ` *` or `:*` a word boundary and the rest."""
    for ending in (":*", " *"):
        if pattern.endswith(ending):
            prefix = pattern.removesuffix(ending)
            return matches_wildcard(prefix, text) or matches_wildcard(prefix + " *", text)
    return matches_wildcard(pattern, text)


def _begins(pattern: str, text: str, starts: tuple[int, ...]) -> bool:
    """Match the rest of the text from any of these offsets, without scanning it once for each."""
    for ending in (":*", " *"):
        if pattern.endswith(ending):
            prefix = pattern.removesuffix(ending)
            return _begins_with(prefix, text, starts) or _begins_with(prefix + " *", text, starts)
    return _begins_with(pattern, text, starts)


def _begins_with(pattern: str, text: str, starts: tuple[int, ...]) -> bool:
    head, star, _ = pattern.partition("*")
    for start in sorted(starts):
        if text.startswith(head, start):
            if not star:
                if len(text) - start == len(pattern):
                    return True
                continue
            # The rest of the pattern may match anywhere behind the first `*`: if this start fails, so do later ones.
            return matches_wildcard(pattern, text[start:])
    return False


def is_simple_name(text: str) -> bool:
    """Whether it has only ASCII letters, digits, `_` and `-`, as names of servers and tools must."""
    return bool(text) and text.isascii() and text.replace("_", "").replace("-", "").isalnum()


def _command_forms(pattern: str) -> tuple[str, ...]:
    """The pattern with and without escaped brackets: settings written by other programs escape them."""
    if "\\(" in pattern or "\\)" in pattern:
        return (pattern, pattern.replace("\\(", "(").replace("\\)", ")"))
    return (pattern,)


@lru_cache(maxsize=256)
def _normalised_command(pattern: str) -> str:
    """The command of an exact rule, normalised as commands are: one blank between words, no unnecessary quotes."""
    simple = not any(sign in pattern for sign in "'\"\\") and "  " not in pattern
    if simple or "=" in pattern.partition(" ")[0]:
        return pattern
    from bobstay.permissions.shell.command_queries import simple_words

    found = simple_words(pattern)
    return " ".join(word.text for word in found) if found is not None else pattern


def _matches_text(pattern: str, value: str) -> bool:
    return command_matches(pattern, value)


def _check_name(text: str, tool: str, effect: Effect) -> None:
    bare = tool.replace("*", "")
    if tool != "*" and not is_simple_name(bare or "?"):
        raise BadRule(
            f"{text!r} does not begin with the name of a tool: expected Tool or Tool(pattern), "
            "such as Read, Bash(git log:*) or mcp__server__tool"
        )
    if "*" not in tool or effect is not Effect.ALLOW:
        return
    server, found, _ = tool.removeprefix("mcp__").partition("__")
    if not (tool.startswith("mcp__") and found and is_simple_name(server)):
        raise BadRule(
            f"{text!r}: an allow rule may use * in a name only after mcp__server__, such as mcp__github__get_*"
        )


def _compile(tool: str, pattern: str, effect: Effect) -> tuple["PathRule | None", HostPattern | None]:
    if not pattern:
        return None, None
    if tool in PATH_TOOLS:
        return PathRule(pattern, effect), None
    if tool == "WebFetch":
        return None, HostPattern.parse(pattern)
    if tool.startswith("mcp__") and effect is Effect.ALLOW:
        raise BadPattern("rules about MCP tools take no brackets: expected mcp__server or mcp__server__tool")
    return None, None


class PathRule:
    """The pattern of a rule about files: an anchor and a path pattern below it."""

    def __init__(self, text: str, effect: Effect) -> None:
        if text.startswith("!"):
            raise BadPattern("a pattern cannot be negated: put the rule into another list instead")
        if "\0" in text:
            raise BadPattern("a pattern cannot contain a NUL byte")
        self._anchor, body = _split_anchor(text)
        any_depth = self._anchor == "" and _any_depth(body, effect)
        self._pattern = PathPattern(body, any_depth=any_depth)
        self._composed = PathPattern(composed(body), any_depth=any_depth)
        self._folded = PathPattern(folded(body), any_depth=any_depth)

    def matches(self, located: Located, view: FileSystemView, *, generously: bool) -> bool:
        """An allow rule must match every spelling of the path; for other rules one is enough."""
        found = (self._matches(spelling, view, generously) for spelling in located.spellings)
        return any(found) if generously else bool(located.spellings) and all(found)

    def reaches(self, located: Located, view: FileSystemView) -> bool:
        """Whether something in or below this directory may match."""
        below = [part for part in self._pattern.literal_head() if part]
        for base in self._bases(view, generously=True):
            directory = "/".join([base.rstrip("/"), *below]) or "/"
            for spelling in located.spellings:
                if within(directory, spelling, fold_case=True) or within(spelling, directory, fold_case=True):
                    return True
        return False

    def _matches(self, path: str, view: FileSystemView, generously: bool) -> bool:
        pattern, bases = self._pattern, self._bases(view, generously)
        if view.fold_case:
            pattern, path, bases = self._folded, folded(path), tuple(map(folded, bases))
        elif generously:
            pattern, path, bases = self._composed, composed(path), tuple(map(composed, bases))
        for base in bases:
            if within(path, base):
                below = [part for part in path[len(base) :].split("/") if part]
                if pattern.matches(below, generously=generously):
                    return True
        return False

    def _bases(self, view: FileSystemView, generously: bool) -> tuple[str, ...]:
        match self._anchor:
            case "//":
                return ("/",)
            case "~":
                return view.homes
            case "" if generously:
                return (*view.roots, *view.added)
            case _:
                return view.roots


def _split_anchor(text: str) -> tuple[str, str]:
    if text.startswith("//"):
        return "//", text[2:]
    if text == "~" or text.startswith("~/"):
        return "~", text[1:]
    if text.startswith("~"):
        raise BadPattern("~ must be followed by / (other users' homes are written //home/name)")
    if text.startswith(("/", "./")):
        return "/", text.removeprefix(".")
    return "", text


def _any_depth(body: str, effect: Effect) -> bool:
    """Whether the pattern matches at any depth: a bare name does; `name/**` does in deny and ask rules only."""
    name, slash, rest = body.rstrip("/").partition("/")
    if not slash:
        return name != "**"
    return rest == "**" and effect is not Effect.ALLOW
