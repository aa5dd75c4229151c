"""Walks a parsed script in the order it would run: which commands, in which directory, with which loop variables."""

import re

from msgspec import Struct

from bobstay.permissions.path_resolution import PathWorld, locate
from bobstay.permissions.shell.embedded_scripts import assigns
from bobstay.permissions.shell.expansion import Variables, is_loose, readings, seen
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
"""What may stand before a builtin without starting another process."""
LOOP_VARIABLE = re.compile(r"[a-z_][a-z0-9_]{0,30}|[A-Z]|FILE|DIR|NAME|NUM")
"""Names no program reads from its environment; a loop over PATH or http_proxy is not a harmless one."""
READ_BY_PROGRAMS = re.compile(r".*_proxy|(?:npm|pip|cargo|git|gem|bundle)_.*|_|histchars")
ASSIGNS = names("read mapfile readarray getopts declare typeset local export readonly let unset eval source . wait")


MOST_FEEDING = 8
MOST_PLACES = 8
MOST_MOVES = 20
LONGEST = 1000
"""Limits that only make a place unknown."""


class Location(Struct, frozen=True):
    """Where a command would run."""

    where: str | None
    """Taken for granted, if all went well before; None if that cannot be told."""
    others: tuple[str, ...] = ()
    """Where it would run if a `cd` before it failed."""

    @property
    def all(self) -> tuple[str, ...]:
        return self.others if self.where is None else (self.where, *self.others)


class Occurrence(Struct):
    command: SimpleNode | Test
    place: Location
    variables: Variables
    fed: bool = False
    """Its input comes from a pipe."""
    feeders: tuple[SimpleNode, ...] | None = None
    """Of a command with `xargs` in it, those before it in its pipe; None if its input may be anything."""

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for commands of which the same is known."""
        command = self.command
        assigned = [word.source for word in command.assignments] if isinstance(command, SimpleNode) else ["[["]
        spelled = " ".join([*assigned, "\n", *(word.source for word in command.words)])
        variables = tuple(sorted(self.variables.items())) if self.variables else ()
        return spelled, self.place, self.fed, variables, self.feeders and tuple(map(_spelled, self.feeders))


class ScriptWalker:
    def __init__(self, cwd: str, world: PathWorld, *, searches: int = 0) -> None:
        self.searches = searches
        """For how many commands more the disk may be searched for the names they get."""
        self._cwd = cwd
        self._world = world
        self.commands: list[Occurrence] = []
        self.distinct: list[Occurrence] = []
        """The same without repetitions."""
        self.redirects: list[tuple[Redirect, Location, Variables]] = []
        self.globs: list[tuple[Word, Location]] = []
        """Patterns a loop goes over: for these the shell itself looks into a directory."""
        self.moved = False
        """Some command may run elsewhere than where the shell stands."""
        self.trouble = ""
        self._looping = 0
        self._moved = 0
        """How often the directory was changed."""
        self._given = False
        """The input is another than that of the shell itself, which is empty.

        What may change that one, such as `exec`, also makes the place unknown, where nothing is known to only look.
        """

    def over(self, script: Script) -> None:
        self._script(script, Location(self._cwd), {})
        self.distinct = list({one.key: one for one in self.commands}.values())

    def _script(self, script: Script, place: Location, variables: Variables) -> Location:
        for chain in script.chains:
            after = self._chain(chain, place, variables)
            place = place if chain.background else after
        return place

    def _chain(self, chain: AndOrList, place: Location, variables: Variables) -> Location:
        """Follow `&&` and `||`: a `cd` that leads the chain is taken to succeed, any other may not even run."""
        now = result = place
        fell = strayed = False
        tried: dict[str, None] = dict.fromkeys(place.all)
        for number, pipeline in enumerate(chain.pipelines):
            if pipeline.joint == "||":
                fell = True
                now = place if len(tried) == len(place.all) else self._lost(Location(None, tuple(tried)))
            after = self._pipeline(pipeline, now, variables)
            if len(chain.pipelines) == 1 and after == place:
                return place
            tried.update(dict.fromkeys(after.all))
            if after != now:
                strayed = strayed or number > 0
                after = self._lost(Location(None, tuple(tried))) if fell else after
            now = after
            if not fell:
                result = now
        others = tuple(one for one in tried if one != result.where)
        if (strayed and len(chain.pipelines) > 1) or len(others) > MOST_PLACES:
            return self._lost(Location(None, others[:MOST_PLACES]))
        return Location(result.where, others)

    def _pipeline(self, pipeline: Pipeline, place: Location, variables: Variables) -> Location:
        if len(pipeline.commands) == 1:
            return self._command(pipeline.commands[0], place, variables)
        for number, command in enumerate(pipeline.commands):
            self._apart(command, place, variables, fed=number > 0)
            if (
                number
                and self.searches
                and isinstance(command, SimpleNode)
                and _has_xargs(command)
                and not pipeline.merged
            ):
                self.commands[-1].feeders = _feeders(pipeline.commands[:number], command)
        return place

    def _apart(self, command: Command, place: Location, variables: Variables, *, fed: bool = False) -> None:
        """A command in a shell of its own, whose moves nobody else feels."""
        looping, self._looping = self._looping, 0
        given, self._given = self._given, self._given or fed
        before = len(self.commands)
        self._command(command, place, variables)
        if fed and len(self.commands) > before:
            for occurrence in self.commands[before:]:
                occurrence.fed = True
        self._looping, self._given = looping, given

    def _substituted(self, parts: list[Part], place: Location, variables: Variables) -> None:
        for part in parts:
            if part.script is not None:
                looping, self._looping = self._looping, 0
                self._script(part.script, place, variables)
                self._looping = looping

    def _words(self, words: list[Word], place: Location, variables: Variables) -> None:
        for word in words:
            self._substituted(word.parts, place, variables)

    def _command(self, command: Command, place: Location, variables: Variables) -> Location:
        given = self._given
        for redirect in command.redirects:
            self.redirects.append((redirect, place, variables))
            self._substituted(redirect.target.parts if redirect.target else redirect.inner, place, variables)
            self._given = self._given or _feeds(redirect)  # the next is opened with the input this one gives
        # The words of a simple command are looked at before its redirections, those of any other behind them.
        self._given = given if isinstance(command, SimpleNode) else self._given
        after = self._redirected(command, place, variables)
        self._given = given
        return after

    def _redirected(self, command: Command, place: Location, variables: Variables) -> Location:
        match command:
            case SimpleNode():
                self._words(command.assignments, place, variables)
                self._words(command.words, place, variables)
                self.commands.append(Occurrence(command, place, variables))
                if (
                    self.searches
                    and not self._given
                    and _has_xargs(command)
                    and not any(map(_feeds, command.redirects))
                ):
                    self.commands[-1].feeders = ()
                return self._after(command, place, variables)
            case Test():
                self._words(command.words, place, variables)
                self.commands.append(Occurrence(command, place, variables))
                return place
            case Compound():
                self._words(command.words, place, variables)
                if command.kind == "for":
                    self.globs += [(word, place) for word in command.words if _may_list(word, variables)]
                return self._compound(command, place, variables)

    def _compound(self, command: Compound, place: Location, variables: Variables) -> Location:
        match command.kind:
            case "group":
                return self._script(command.scripts[0], place, variables)
            case "subshell" | "function":
                looping, self._looping = self._looping, 0
                self._script(command.scripts[0], place, variables)
                self._looping = looping
                return place
            case "arithmetic":
                return place
            case "if" | "case":
                for script in command.scripts:
                    end = self._script(script, place, variables)
                    place = place if end == place else self._lost(place)
                return place
            case "loop" | "for":
                if command.kind == "for":
                    variables = self._looped(command, variables)
                self._looping += 1
                for script in command.scripts:
                    self._script(script, place, variables)
                self._looping -= 1
                return place

    def _looped(self, command: Compound, variables: Variables) -> Variables:
        """The variables inside a loop over words: known if the words are, and nothing else can change them."""
        name = command.name
        if not LOOP_VARIABLE.fullmatch(name) or READ_BY_PROGRAMS.fullmatch(name):
            self.trouble = self.trouble or "a loop sets a variable that programs may obey"
            return variables
        values: list[str] = []
        for word in command.words:
            found = [one for way in seen(word, variables) for one in way]
            if any(one.dynamic or one.glob for one in found) or word.tilde:
                return {key: value for key, value in variables.items() if key != name}
            values += [one.value for one in found]
        return {**variables, name: tuple(dict.fromkeys(values))}

    def _after(self, command: SimpleNode, place: Location, variables: Variables) -> Location:
        if not command.words:
            assigned = (word.source.partition("=")[0].removesuffix("+") for word in command.assignments)
            self._reassigns(any(name in variables for name in assigned))
            return place
        first = command.words[0].value.rpartition("/")[2]
        self._reassigns(bool(variables) and (first in ASSIGNS or (first == "printf" and _has_options(command))))
        if first not in MOVES and first not in PREFIXES:
            return place
        (found, *more) = readings(command.words, variables)
        values = [one.spelled for one in found]
        while len(values) > 1 and values[0] in PREFIXES:
            values, found = values[1:], found[1:]
        if values[0] not in MOVES:
            return place
        if values[0] != "cd" or more or any(one.dynamic or one.glob or one.counted for one in found):
            return self._lost(place)
        return self._cd(values[1:], place)

    def _reassigns(self, does: bool) -> None:
        if does:
            self.trouble = self.trouble or "the variable of a loop may be changed inside it"

    def _cd(self, arguments: list[str], place: Location) -> Location:
        if arguments[:1] == ["--"]:
            arguments = arguments[1:]
        target = arguments[0] if arguments else self._world.home
        self._moved += 1
        if len(arguments) > 1 or target.startswith("-") or self._moved > MOST_MOVES:
            return self._lost(place)
        if place.where is None or len(place.where) > LONGEST:
            return self._lost(place)
        located = locate(target or ".", place.where, self._world)
        if not located.path:
            return self._lost(place)
        if located.path == place.where:
            return place
        self._moves()
        return Location(located.path)

    def _lost(self, place: Location) -> Location:
        self._moves()
        return Location(None, place.all)

    def _moves(self) -> None:
        self.moved = True
        if self._looping:
            self.trouble = self.trouble or "a loop changes its directory"


def _may_list(word: Word, variables: Variables) -> bool:
    """Whether the shell may look into directories for it, now or when the variable of the loop is used."""
    return word.glob or any(is_loose(part, variables) for part in word.parts)


def _has_options(command: SimpleNode) -> bool:
    return any(word.dynamic or word.value.startswith("-") or assigns(word.value) for word in command.words[1:2])


def _has_xargs(command: SimpleNode) -> bool:
    return any(word.source == "xargs" for word in command.words)


def _feeders(commands: list[Command], command: SimpleNode) -> tuple[SimpleNode, ...] | None:
    """The commands before `command` in its pipe, if what they print is all it gets."""
    if len(commands) > MOST_FEEDING or any(map(_feeds, command.redirects)):
        return None
    found = tuple(one for one in commands if isinstance(one, SimpleNode) and not one.assignments)
    quiet = all(_is_quiet(redirect) for one in found for redirect in one.redirects)
    return found if quiet and len(found) == len(commands) else None


def _feeds(redirect: Redirect) -> bool:
    """Whether it changes where input comes from."""
    return "<" in redirect.operator


def _is_quiet(redirect: Redirect) -> bool:
    """Whether it only throws away what is said about errors."""
    target = redirect.target.source if redirect.target is not None else ""
    return redirect.operator in (">", ">>") and redirect.descriptor == "2" and target == "/dev/null"


def _spelled(command: SimpleNode) -> str:
    return " ".join(word.source for word in command.words)
