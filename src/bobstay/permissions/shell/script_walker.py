"""Walks a parsed script in execution order and records each command with its directory and loop variables."""

import re

from msgspec import Struct

from bobstay.permissions.path_resolution import FileSystemView, locate
from bobstay.permissions.shell.embedded_scripts import printf_assigns
from bobstay.permissions.shell.expansion import Variables, expand, is_loose, readings
from bobstay.permissions.shell.name_sets import names
from bobstay.permissions.shell.syntax import (
    AndOrList,
    Command,
    Compound,
    Part,
    Pipeline,
    Redirect,
    Script,
    SimpleNode,
    Test,
    Word,
)

MOVES = names("cd pushd popd eval source . exec trap")
PREFIXES = frozenset({"builtin", "command", "time", "-p", "--"})
"""Words that may precede a builtin without starting another process."""
LOOP_VARIABLE = re.compile(r"[a-z_][a-z0-9_]{0,30}|[A-Z]|FILE|DIR|NAME|NUM")
"""Names that no program reads from its environment; a loop that sets PATH or http_proxy is not harmless."""
READ_BY_PROGRAMS = re.compile(r".*_proxy|(?:npm|pip|cargo|git|gem|bundle)_.*|_|histchars")
ASSIGNS = names("read mapfile readarray getopts declare typeset local export readonly let unset eval source . wait")


MOST_SOURCES = 8
MOST_PLACES = 8
MOST_MOVES = 20
LONGEST = 1000
"""Limits beyond which a location is unknown."""


class Location(Struct, frozen=True):
    """The directory in which a command would run."""

    path: str | None
    """The directory if every earlier command succeeded; None if not known."""
    others: tuple[str, ...] = ()
    """The directories if an earlier `cd` failed."""

    @property
    def all(self) -> tuple[str, ...]:
        return self.others if self.path is None else (self.path, *self.others)


class Occurrence(Struct):
    command: SimpleNode | Test
    location: Location
    variables: Variables
    piped: bool = False
    """Its input comes from a pipe."""
    name_sources: tuple[SimpleNode, ...] | None = None
    """For a command with `xargs`, the commands before it in its pipe; None if its input may be anything."""

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for commands that have the same analysis."""
        command = self.command
        assigned = [word.source for word in command.assignments] if isinstance(command, SimpleNode) else ["[["]
        spelled = " ".join([*assigned, "\n", *(word.source for word in command.words)])
        variables = tuple(sorted(self.variables.items())) if self.variables else ()
        return (
            spelled,
            self.location,
            self.piped,
            variables,
            self.name_sources and tuple(map(_source_text, self.name_sources)),
        )


class ScriptWalker:
    def __init__(self, cwd: str, view: FileSystemView, *, searches: int = 0) -> None:
        self.searches = searches
        """For how many more commands the disk may be searched for the names forwarded to them."""
        self._cwd = cwd
        self._view = view
        self.commands: list[Occurrence] = []
        self.distinct: list[Occurrence] = []
        """`commands` without repetitions."""
        self.redirects: list[tuple[Redirect, Location, Variables]] = []
        self.globs: list[tuple[Word, Location]] = []
        """Patterns in the word list of a loop: the shell itself lists a directory for these."""
        self.moved = False
        """Some command may run outside the shell's initial directory."""
        self.trouble = ""
        self._looping = 0
        self._moved = 0
        """How often the directory changed."""
        self._has_input = False
        """The input is not that of the shell itself, which is empty.

        Commands that may change the shell's input, such as `exec`, also make the location unknown, where no command
        counts as read-only.
        """

    def walk(self, script: Script) -> None:
        self._script(script, Location(self._cwd), {})
        self.distinct = list({one.key: one for one in self.commands}.values())

    def _script(self, script: Script, location: Location, variables: Variables) -> Location:
        for chain in script.chains:
            after = self._chain(chain, location, variables)
            location = location if chain.background else after
        return location

    def _chain(self, chain: AndOrList, location: Location, variables: Variables) -> Location:
        """Follow `&&` and `||`: a `cd` at the beginning is assumed to succeed, any other may not even run."""
        now = result = location
        fell = moved_late = False
        tried: dict[str, None] = dict.fromkeys(location.all)
        for number, pipeline in enumerate(chain.pipelines):
            if pipeline.joint == "||":
                fell = True
                now = (
                    location
                    if len(tried) == len(location.all)
                    else self._unknown_location(Location(None, tuple(tried)))
                )
            after = self._pipeline(pipeline, now, variables)
            if len(chain.pipelines) == 1 and after == location:
                return location
            tried.update(dict.fromkeys(after.all))
            if after != now:
                moved_late = moved_late or number > 0
                after = self._unknown_location(Location(None, tuple(tried))) if fell else after
            now = after
            if not fell:
                result = now
        others = tuple(one for one in tried if one != result.path)
        if (moved_late and len(chain.pipelines) > 1) or len(others) > MOST_PLACES:
            return self._unknown_location(Location(None, others[:MOST_PLACES]))
        return Location(result.path, others)

    def _pipeline(self, pipeline: Pipeline, location: Location, variables: Variables) -> Location:
        if len(pipeline.commands) == 1:
            return self._command(pipeline.commands[0], location, variables)
        for number, command in enumerate(pipeline.commands):
            self._walk_isolated(command, location, variables, piped=number > 0)
            if (
                number
                and self.searches
                and isinstance(command, SimpleNode)
                and _has_xargs(command)
                and not pipeline.merged
            ):
                self.commands[-1].name_sources = _find_name_sources(pipeline.commands[:number], command)
        return location

    def _walk_isolated(
        self, command: Command, location: Location, variables: Variables, *, piped: bool = False
    ) -> None:
        """Walk a command in a subshell: its directory changes do not affect others."""
        looping, self._looping = self._looping, 0
        had_input, self._has_input = self._has_input, self._has_input or piped
        before = len(self.commands)
        self._command(command, location, variables)
        if piped and len(self.commands) > before:
            for occurrence in self.commands[before:]:
                occurrence.piped = True
        self._looping, self._has_input = looping, had_input

    def _substituted(self, parts: list[Part], location: Location, variables: Variables) -> None:
        for part in parts:
            if part.script is not None:
                looping, self._looping = self._looping, 0
                self._script(part.script, location, variables)
                self._looping = looping

    def _words(self, words: list[Word], location: Location, variables: Variables) -> None:
        for word in words:
            self._substituted(word.parts, location, variables)

    def _command(self, command: Command, location: Location, variables: Variables) -> Location:
        had_input = self._has_input
        for redirect in command.redirects:
            self.redirects.append((redirect, location, variables))
            self._substituted(redirect.target.parts if redirect.target else redirect.inner, location, variables)
            self._has_input = self._has_input or _redirects_input(
                redirect
            )  # the next redirection is expanded with the input of this one
        # The shell expands the words of a simple command before its redirections, those of others after them.
        self._has_input = had_input if isinstance(command, SimpleNode) else self._has_input
        after = self._redirected(command, location, variables)
        self._has_input = had_input
        return after

    def _redirected(self, command: Command, location: Location, variables: Variables) -> Location:
        match command:
            case SimpleNode():
                self._words(command.assignments, location, variables)
                self._words(command.words, location, variables)
                self.commands.append(Occurrence(command, location, variables))
                if (
                    self.searches
                    and not self._has_input
                    and _has_xargs(command)
                    and not any(map(_redirects_input, command.redirects))
                ):
                    self.commands[-1].name_sources = ()
                return self._location_after(command, location, variables)
            case Test():
                self._words(command.words, location, variables)
                self.commands.append(Occurrence(command, location, variables))
                return location
            case Compound():
                self._words(command.words, location, variables)
                if command.kind == "for":
                    self.globs += [(word, location) for word in command.words if _may_list(word, variables)]
                return self._compound(command, location, variables)

    def _compound(self, command: Compound, location: Location, variables: Variables) -> Location:
        match command.kind:
            case "group":
                return self._script(command.scripts[0], location, variables)
            case "subshell" | "function":
                looping, self._looping = self._looping, 0
                self._script(command.scripts[0], location, variables)
                self._looping = looping
                return location
            case "arithmetic":
                return location
            case "if" | "case":
                for script in command.scripts:
                    end = self._script(script, location, variables)
                    location = location if end == location else self._unknown_location(location)
                return location
            case "loop" | "for":
                if command.kind == "for":
                    variables = self._loop_variables(command, variables)
                self._looping += 1
                for script in command.scripts:
                    self._script(script, location, variables)
                self._looping -= 1
                return location

    def _loop_variables(self, command: Compound, variables: Variables) -> Variables:
        """The variables inside a loop over words: known if the words are known and nothing else can change them."""
        name = command.name
        if not LOOP_VARIABLE.fullmatch(name) or READ_BY_PROGRAMS.fullmatch(name):
            self.trouble = self.trouble or "a loop sets a variable that programs may read"
            return variables
        values: list[str] = []
        for word in command.words:
            found = [one for way in expand(word, variables) for one in way]
            if any(one.dynamic or one.glob for one in found) or word.tilde:
                return {key: value for key, value in variables.items() if key != name}
            values += [one.value for one in found]
        return {**variables, name: tuple(dict.fromkeys(values))}

    def _location_after(self, command: SimpleNode, location: Location, variables: Variables) -> Location:
        if not command.words:
            assigned = (word.source.partition("=")[0].removesuffix("+") for word in command.assignments)
            self._check_reassignment(any(name in variables for name in assigned))
            return location
        first = command.words[0].value.rpartition("/")[2]
        self._check_reassignment(
            bool(variables) and (first in ASSIGNS or (first == "printf" and _has_options(command)))
        )
        if first not in MOVES and first not in PREFIXES:
            return location
        (found, *more) = readings(command.words, variables)
        values = [one.spelled for one in found]
        while len(values) > 1 and values[0] in PREFIXES:
            values, found = values[1:], found[1:]
        if values[0] not in MOVES:
            return location
        if values[0] != "cd" or more or any(one.dynamic or one.glob or one.counted for one in found):
            return self._unknown_location(location)
        return self._cd(values[1:], location)

    def _check_reassignment(self, does: bool) -> None:
        if does:
            self.trouble = self.trouble or "the variable of a loop may be changed inside it"

    def _cd(self, arguments: list[str], location: Location) -> Location:
        if arguments[:1] == ["--"]:
            arguments = arguments[1:]
        target = arguments[0] if arguments else self._view.home
        self._moved += 1
        if len(arguments) > 1 or target.startswith("-") or self._moved > MOST_MOVES:
            return self._unknown_location(location)
        if location.path is None or len(location.path) > LONGEST:
            return self._unknown_location(location)
        located = locate(target or ".", location.path, self._view)
        if not located.path:
            return self._unknown_location(location)
        if located.path == location.path:
            return location
        self._record_move()
        return Location(located.path)

    def _unknown_location(self, location: Location) -> Location:
        self._record_move()
        return Location(None, location.all)

    def _record_move(self) -> None:
        self.moved = True
        if self._looping:
            self.trouble = self.trouble or "a loop changes its directory"


def _may_list(word: Word, variables: Variables) -> bool:
    """Whether the shell may list directories for it, now or when the loop variable is used."""
    return word.glob or any(is_loose(part, variables) for part in word.parts)


def _has_options(command: SimpleNode) -> bool:
    return any(word.dynamic or word.value.startswith("-") or printf_assigns(word.value) for word in command.words[1:2])


def _has_xargs(command: SimpleNode) -> bool:
    return any(word.source == "xargs" for word in command.words)


def _find_name_sources(commands: list[Command], command: SimpleNode) -> tuple[SimpleNode, ...] | None:
    """The commands before `command` in its pipe, if their output is its only input."""
    if len(commands) > MOST_SOURCES or any(map(_redirects_input, command.redirects)):
        return None
    found = tuple(one for one in commands if isinstance(one, SimpleNode) and not one.assignments)
    quiet = all(_discards_errors(redirect) for one in found for redirect in one.redirects)
    return found if quiet and len(found) == len(commands) else None


def _redirects_input(redirect: Redirect) -> bool:
    """Whether it changes the input."""
    return "<" in redirect.operator


def _discards_errors(redirect: Redirect) -> bool:
    """Whether it only discards error output."""
    target = redirect.target.source if redirect.target is not None else ""
    return redirect.operator in (">", ">>") and redirect.descriptor == "2" and target == "/dev/null"


def _source_text(command: SimpleNode) -> str:
    return " ".join(word.source for word in command.words)
