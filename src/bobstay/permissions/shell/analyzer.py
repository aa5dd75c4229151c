"""Reads a whole shell command: parses it twice, walks it, and says of each simple command what is known."""

import re

from msgspec.structs import replace

from bobstay.permissions.path_resolution import PathWorld, locate, normalise, protected
from bobstay.permissions.shell.analysis import RedirectTarget, ShellAnalysis, SimpleCommand
from bobstay.permissions.shell.catastrophic_removal import disaster, rough_disaster
from bobstay.permissions.shell.expansion import ExpandedWord, readings
from bobstay.permissions.shell.hazards import SCRIPTED, told
from bobstay.permissions.shell.parser import parse
from bobstay.permissions.shell.rule_texts import Suspect, anywhere, is_named_by_list, places, rough, scripts, suspects
from bobstay.permissions.shell.script_walker import Location, Occurrence, ScriptWalker
from bobstay.permissions.shell.second_parser import agrees, is_plain
from bobstay.permissions.shell.simple_command import listed, plain, targets_of
from bobstay.permissions.shell.syntax import NotUnderstood, Redirect, Script, SimpleNode, Test
from bobstay.permissions.shell.wrappers import EXEC_WRAPPERS, SHELLS, TRANSPARENT, harmless

LONGEST = 10_000
PARSED = 200_000
"""Beyond this not even deny rules are worth a parser's time; the rough cut serves them."""
DEEPEST = 5
MOST = 200
"""Commands in one text that may be allowed; there is no such limit to what is denied."""
MOST_HIDDEN = 200
MOST_SEARCHES = 8
"""Commands for which the disk is searched for the names they get."""
MOST_SCRIPTED = 20
"""Limits to what is looked into; beyond, no rule is certain not to apply."""
CONTINUED = re.compile(r"\n[ \t]*\\")
MISLEADING = re.compile(r"[\s'\"\\]|/-")
NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
REBINDS = frozenset({"hash", "alias", "enable", "source", ".", "let"})


def read(command: str, cwd: str, world: PathWorld) -> ShellAnalysis:
    """Read a shell command that would run in `cwd`."""
    return _Reader(normalise(cwd), world).read(command)


class _Reader:
    def __init__(self, cwd: str, world: PathWorld) -> None:
        self._cwd = cwd
        self._world = world
        self._suspects: dict[Suspect, None] = {}
        self._hidden: list[SimpleCommand] = []
        self._critical = ""
        self._certain = True
        self._trouble = ""
        self._inside = 0
        """Scripts in arguments that were looked into so far."""
        self._characters = 0
        """How long they were together."""

    def read(self, command: str) -> ShellAnalysis:
        text = command.strip(" \t\n")
        self._suspects[(text, (0,))] = None
        trouble = oddity(command)
        searches = MOST_SEARCHES if "xargs" in text or "-exec" in text else 0
        walk = ScriptWalker(self._cwd, self._world, searches=searches)
        commands: list[SimpleCommand] = []
        targets: list[RedirectTarget] = []
        script = self._parsed(text) if len(text) <= PARSED and not _is_garbled(text) else None
        if script is None:
            trouble = trouble or self._trouble
            self._rough(text, (self._cwd,))
        else:
            walk.over(script)
            trouble = trouble or self._trouble or walk.trouble
            if len(walk.commands) > MOST:
                trouble = trouble or f"it consists of more than {MOST} commands"
            if not trouble and not is_plain(text) and not agrees(text, script):
                trouble = "two parsers of shell text read it differently"
                self._rough(text, (self._cwd,))
            commands = self._plain(walk, self._cwd)
            targets = _targets(walk)
            self._look_into(walk, 0)
            commands = self._with_new_names(commands, targets) + self._overheard()
        if any(one.nameless for one in commands):
            trouble = trouble or "the name of a command cannot be told, or is not plain"
        found = ShellAnalysis(text, tuple(commands), tuple(self._hidden), tuple(self._suspects), trouble)
        found.certain = self._certain and not trouble
        found.critical = self._critical
        found.targets = tuple(dict.fromkeys(targets))
        found.expands = bool(walk.globs) or ("*" in text and any(map(_expands, walk.commands)))
        return found

    def _parsed(self, text: str) -> Script | None:
        try:
            script, self._trouble = parse(text)
        except NotUnderstood as error:
            self._trouble = str(error)
            return None
        return script

    def _plain(self, walk: ScriptWalker, start: str) -> list[SimpleCommand]:
        """What is known of each command; the same one in the same place is looked at once."""
        return [plain(occurrence, walk, start, self._world) for occurrence in walk.distinct]

    def _rough(self, text: str, starts: tuple[str, ...]) -> None:
        self._certain = False
        pieces = list(rough(text))
        for piece in pieces:
            self._suspects.update(dict.fromkeys(suspects(piece)))
        self._critical = self._critical or rough_disaster(text, pieces, starts, self._world)

    def _look_into(self, walk: ScriptWalker, depth: int) -> None:
        """Note how restricting rules may know each command, scripts inside arguments included."""
        fed_shell = False
        handed: list[tuple[str, Location]] = []
        for occurrence in walk.distinct:
            if isinstance(occurrence.command, Test):
                continue
            if occurrence.command.words and occurrence.command.words[0].brace:
                continue  # its name cannot be told, which is trouble enough
            for words in readings(occurrence.command.words, occurrence.variables):
                fed_shell = self._look_at(occurrence, words, handed) or fed_shell
        if fed_shell:
            self._certain = False
            handed += _said(walk)
        for text, place in dict.fromkeys(handed):
            self._look_inside(text, place, depth)

    def _look_at(self, occurrence: Occurrence, words: list[ExpandedWord], handed: list[tuple[str, Location]]) -> bool:
        """One reading of one command. Whether it is a shell that takes its script from elsewhere."""
        if not words:
            return False
        self._critical = self._critical or disaster(words, occurrence.place.all, self._world)
        values = [word.spelled for word in words]
        self._suspects.update(dict.fromkeys(suspects(values)))
        spellings = {" ".join(word.text for word in words), " ".join(word.source for word in words)}
        self._suspects.update(dict.fromkeys((one, (0,)) for one in spellings))
        begins = places(values)
        names = {values[place].rpartition("/")[2] for place in begins}
        scripted = [place for place in begins if values[place].rpartition("/")[2] in SCRIPTED]
        if len(scripted) > MOST_SCRIPTED:
            self._certain = False
        for place in scripted[:MOST_SCRIPTED]:
            self._suspects.update(dict.fromkeys(anywhere(text) for text in told(words[place:])))
        if any(words[place].glob or words[place].dynamic for place in begins) or is_named_by_list(values, begins):
            self._certain = False  # the name of a command behind a wrapper cannot be told
        if not names.isdisjoint(REBINDS):
            self._certain = False
        *_, last = harmless(words)
        if last[0].value in TRANSPARENT and len(last) > 1 and any(word.dynamic for word in last):
            self._certain = False  # the command behind it cannot be told
        if names.isdisjoint(EXEC_WRAPPERS | SHELLS):
            return False
        handed += [(text, occurrence.place) for text in scripts(values)]
        if any(word.dynamic for word in words):
            self._certain = False
        return not names.isdisjoint(SHELLS) and not any(value.startswith("-") and "c" in value for value in values[1:])

    def _overheard(self) -> list[SimpleCommand]:
        """What scripts inside arguments add to what must be judged: files nobody can name, and protected ones."""
        found: list[SimpleCommand] = []
        sweeps = tuple(dict.fromkeys(path for one in self._hidden for path in one.sweeps))
        unresolved = any(one.unresolved for one in self._hidden)
        if sweeps or unresolved:
            found.append(SimpleCommand((), read_only=True, unresolved=unresolved, sweeps=sweeps))
        written = dict.fromkeys(path for one in self._hidden for path in one.writes)
        guarded = tuple(path for path in written if protected(locate(path, self._cwd, self._world)))
        return [*found, SimpleCommand((), writes=guarded)] if guarded else found

    def _with_new_names(self, commands: list[SimpleCommand], targets: list[RedirectTarget]) -> list[SimpleCommand]:
        """The same, where some command may make a name that is another, or several, to who gets it from a list."""
        if not any(one.handed for one in commands):
            return commands
        written = [path for one in commands for path in one.writes]
        written += [target.path for target in targets if target.kind == "write"]
        if not any(MISLEADING.search(path.removeprefix(self._world.root)) for path in written):
            return commands
        return [replace(one, read_only=False) if one.handed else one for one in commands]

    def _look_inside(self, text: str, place: Location, depth: int) -> None:
        self._inside += 1
        self._characters += len(text)
        start = place.where or self._cwd
        if depth >= DEEPEST or self._inside > MOST_HIDDEN or self._characters > LONGEST:
            self._rough(text, (start,))
            return
        try:
            script, trouble = parse(text)
        except NotUnderstood:
            self._rough(text, (start,))
            return
        if trouble:
            self._certain = False
        walk = ScriptWalker(start, self._world)
        walk.over(script)
        inside = self._plain(walk, start)
        if walk.trouble or any(one.nameless for one in inside):
            self._certain = False
        self._hidden += inside
        opened = _targets(walk)
        self._hidden.append(
            SimpleCommand(
                (),
                reads=tuple(one.path for one in opened if one.kind == "read" and one.path),
                writes=tuple(one.path for one in opened if one.kind == "write" and one.path),
                unresolved=not all(one.path for one in opened),
            )
        )
        self._look_into(walk, depth + 1)


def _targets(walk: ScriptWalker) -> list[RedirectTarget]:
    """The files the shell itself opens, and the directories it lists."""
    found = [target for redirect in walk.redirects if _leads(redirect[0]) for target in targets_of(*redirect)]
    return found + [target for pattern in walk.globs for target in listed(*pattern)]


def _expands(occurrence: Occurrence) -> bool:
    return any(word.glob or word.brace for word in occurrence.command.words)


def oddity(command: str) -> str:
    """What makes text unfit for judging, whatever it says."""
    if not command.strip(" \t\n"):
        return "it is empty"
    if len(command) > LONGEST:
        return f"it is longer than {LONGEST} characters"
    if _is_garbled(command):
        return "it contains control characters, or characters that cannot be seen"
    if command.rstrip(" \t\n").endswith("\\"):
        return "it ends with a backslash"
    if CONTINUED.search(command):
        return "a line begins with a backslash"
    return ""


def _is_garbled(command: str) -> bool:
    """Control, formatting or look-alike space characters: what is judged must be what a person would see."""
    if command.isprintable():
        return False
    return not command.replace("\n", "").replace("\t", "").isprintable()


def _leads(redirect: Redirect) -> bool:
    """Whether a redirection opens a file: not a duplicate, a here-document or a string."""
    if redirect.target is None or redirect.operator == "<<<":
        return False
    source = redirect.target.source
    if redirect.operator in (">&", "<&"):
        return not (source == "-" or (source.isascii() and source.removesuffix("-").isdigit()))
    return not (source in NOWHERE and redirect.operator != "<") and source != "/dev/null"


def _said(walk: ScriptWalker) -> list[tuple[str, Location]]:
    """What a shell at the end of a pipe may be told: here-documents, and what is echoed."""
    found = [(redirect.body, place) for redirect, place, _ in walk.redirects if redirect.body]
    for redirect, place, _ in walk.redirects:
        if redirect.operator == "<<<" and redirect.target is not None:
            found.append((redirect.target.value, place))
    for occurrence in walk.commands:
        command = occurrence.command
        if isinstance(command, SimpleNode) and command.words and command.words[0].value in ("echo", "printf"):
            found += [(word.value, occurrence.place) for word in command.words[1:]]
            found.append((" ".join(word.value for word in command.words[1:]), occurrence.place))
    return found
