"""Analyses a whole shell command: parses it twice, walks the script, and describes each simple command."""

import re

from msgspec.structs import replace

from bobstay.permissions.path_resolution import FileSystemView, locate, normalise, protected_part
from bobstay.permissions.shell.analysis import RedirectTarget, ShellAnalysis, SimpleCommand
from bobstay.permissions.shell.catastrophic_removal import catastrophic_removal, rough_catastrophic_removal
from bobstay.permissions.shell.expansion import ExpandedWord, readings
from bobstay.permissions.shell.hazards import SCRIPTED, embedded_programs
from bobstay.permissions.shell.parser import parse
from bobstay.permissions.shell.rule_texts import (
    RuleTextStarts,
    any_word_text,
    command_positions,
    is_named_by_list,
    rough_commands,
    rule_texts,
    scripts,
)
from bobstay.permissions.shell.script_walker import Location, Occurrence, ScriptWalker
from bobstay.permissions.shell.second_parser import agrees, is_trivial
from bobstay.permissions.shell.simple_command import analyze_simple_command, listed_targets, targets_of
from bobstay.permissions.shell.syntax import NotUnderstood, Redirect, Script, SimpleNode, Test
from bobstay.permissions.shell.wrappers import EXEC_WRAPPERS, SHELLS, TRANSPARENT, strip_harmless

LONGEST = 10_000
PARSED = 200_000
"""Longer texts are not parsed, not even for deny rules; they are split roughly instead."""
DEEPEST = 5
MOST = 200
"""Commands in one text that may be allowed; deny rules have no such limit."""
MOST_HIDDEN = 200
MOST_SEARCHES = 8
"""Commands for which the disk is searched for the names forwarded to them."""
MOST_SCRIPTED = 20
"""Limits of the analysis of embedded scripts; beyond them, no rule is certain not to apply."""
CONTINUED = re.compile(r"\n[ \t]*\\")
MISLEADING = re.compile(r"[\s'\"\\]|/-")
NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
REBINDS = frozenset({"hash", "alias", "enable", "source", ".", "let"})


def analyze(command: str, cwd: str, view: FileSystemView) -> ShellAnalysis:
    """Analyse a shell command that would run in `cwd`."""
    return _ShellAnalyzer(normalise(cwd), view).analyze(command)


class _ShellAnalyzer:
    def __init__(self, cwd: str, view: FileSystemView) -> None:
        self._cwd = cwd
        self._view = view
        self._rule_texts: dict[RuleTextStarts, None] = {}
        self._hidden: list[SimpleCommand] = []
        self._critical = ""
        self._certain = True
        self._trouble = ""
        self._inside = 0
        """Scripts in arguments that were analysed so far."""
        self._characters = 0
        """Their total length."""

    def analyze(self, command: str) -> ShellAnalysis:
        text = command.strip(" \t\n")
        self._rule_texts[(text, (0,))] = None
        trouble = text_problem(command)
        searches = MOST_SEARCHES if "xargs" in text or "-exec" in text else 0
        walker = ScriptWalker(self._cwd, self._view, searches=searches)
        commands: list[SimpleCommand] = []
        targets: list[RedirectTarget] = []
        script = self._parse(text) if len(text) <= PARSED and not _has_unprintable(text) else None
        if script is None:
            trouble = trouble or self._trouble
            self._analyze_roughly(text, (self._cwd,))
        else:
            walker.walk(script)
            trouble = trouble or self._trouble or walker.trouble
            if len(walker.commands) > MOST:
                trouble = trouble or f"it consists of more than {MOST} commands"
            if not trouble and not is_trivial(text) and not agrees(text, script):
                trouble = "two parsers of shell text read it differently"
                self._analyze_roughly(text, (self._cwd,))
            commands = self._simple_commands(walker, self._cwd)
            targets = _targets(walker)
            self._collect_rule_texts(walker, 0)
            commands = self._distrust_new_names(commands, targets) + self._embedded_accesses()
        if any(one.unknown_name for one in commands):
            trouble = trouble or "the name of a command is not known, or is not literal"
        found = ShellAnalysis(text, tuple(commands), tuple(self._hidden), tuple(self._rule_texts), trouble)
        found.certain = self._certain and not trouble
        found.critical = self._critical
        found.targets = tuple(dict.fromkeys(targets))
        found.expands = bool(walker.globs) or ("*" in text and any(map(_expands, walker.commands)))
        return found

    def _parse(self, text: str) -> Script | None:
        try:
            script, self._trouble = parse(text)
        except NotUnderstood as error:
            self._trouble = str(error)
            return None
        return script

    def _simple_commands(self, walker: ScriptWalker, start: str) -> list[SimpleCommand]:
        """Describe each command; the same one in the same location is analysed once."""
        return [analyze_simple_command(occurrence, walker, start, self._view) for occurrence in walker.distinct]

    def _analyze_roughly(self, text: str, starts: tuple[str, ...]) -> None:
        self._certain = False
        pieces = list(rough_commands(text))
        for piece in pieces:
            self._rule_texts.update(dict.fromkeys(rule_texts(piece)))
        self._critical = self._critical or rough_catastrophic_removal(text, pieces, starts, self._view)

    def _collect_rule_texts(self, walker: ScriptWalker, depth: int) -> None:
        """Collect the texts that deny and ask rules are matched with, including those of embedded scripts."""
        reads_input = False
        embedded: list[tuple[str, Location]] = []
        for occurrence in walker.distinct:
            if isinstance(occurrence.command, Test):
                continue
            if occurrence.command.words and occurrence.command.words[0].brace:
                continue  # its name is not known, which is reported elsewhere
            for words in readings(occurrence.command.words, occurrence.variables):
                reads_input = self._collect_from_reading(occurrence, words, embedded) or reads_input
        if reads_input:
            self._certain = False
            embedded += _shell_input_texts(walker)
        for text, location in dict.fromkeys(embedded):
            self._analyze_embedded(text, location, depth)

    def _collect_from_reading(
        self, occurrence: Occurrence, words: list[ExpandedWord], embedded: list[tuple[str, Location]]
    ) -> bool:
        """Collect from one reading of one command. Returns whether it is a shell that reads its script from input."""
        if not words:
            return False
        self._critical = self._critical or catastrophic_removal(words, occurrence.location.all, self._view)
        values = [word.spelled for word in words]
        self._rule_texts.update(dict.fromkeys(rule_texts(values)))
        spellings = {" ".join(word.text for word in words), " ".join(word.source for word in words)}
        self._rule_texts.update(dict.fromkeys((one, (0,)) for one in spellings))
        begins = command_positions(values)
        names = {values[position].rpartition("/")[2] for position in begins}
        scripted = [position for position in begins if values[position].rpartition("/")[2] in SCRIPTED]
        if len(scripted) > MOST_SCRIPTED:
            self._certain = False
        for position in scripted[:MOST_SCRIPTED]:
            self._rule_texts.update(dict.fromkeys(any_word_text(text) for text in embedded_programs(words[position:])))
        if any(words[position].glob or words[position].dynamic for position in begins) or is_named_by_list(
            values, begins
        ):
            self._certain = False  # the name of a command behind a wrapper is not known
        if not names.isdisjoint(REBINDS):
            self._certain = False
        *_, last = strip_harmless(words)
        if last[0].value in TRANSPARENT and len(last) > 1 and any(word.dynamic for word in last):
            self._certain = False  # the command behind it is not known
        if names.isdisjoint(EXEC_WRAPPERS | SHELLS):
            return False
        embedded += [(text, occurrence.location) for text in scripts(values)]
        if any(word.dynamic for word in words):
            self._certain = False
        return not names.isdisjoint(SHELLS) and not any(value.startswith("-") and "c" in value for value in values[1:])

    def _embedded_accesses(self) -> list[SimpleCommand]:
        """Accesses of embedded scripts that must be judged: unknown files, whole directories and protected files."""
        found: list[SimpleCommand] = []
        read_directories = tuple(dict.fromkeys(path for one in self._hidden for path in one.read_directories))
        unresolved = any(one.unresolved for one in self._hidden)
        if read_directories or unresolved:
            found.append(SimpleCommand((), read_only=True, unresolved=unresolved, read_directories=read_directories))
        written = dict.fromkeys(path for one in self._hidden for path in one.writes)
        guarded = tuple(path for path in written if protected_part(locate(path, self._cwd, self._view)))
        return [*found, SimpleCommand((), writes=guarded)] if guarded else found

    def _distrust_new_names(self, commands: list[SimpleCommand], targets: list[RedirectTarget]) -> list[SimpleCommand]:
        """Drop `read_only` where names are forwarded and some command may create one that is read as another name."""
        if not any(one.forwarded for one in commands):
            return commands
        written = [path for one in commands for path in one.writes]
        written += [target.path for target in targets if target.kind == "write"]
        if not any(MISLEADING.search(path.removeprefix(self._view.root)) for path in written):
            return commands
        return [replace(one, read_only=False) if one.forwarded else one for one in commands]

    def _analyze_embedded(self, text: str, location: Location, depth: int) -> None:
        self._inside += 1
        self._characters += len(text)
        start = location.path or self._cwd
        if depth >= DEEPEST or self._inside > MOST_HIDDEN or self._characters > LONGEST:
            self._analyze_roughly(text, (start,))
            return
        try:
            script, trouble = parse(text)
        except NotUnderstood:
            self._analyze_roughly(text, (start,))
            return
        if trouble:
            self._certain = False
        walker = ScriptWalker(start, self._view)
        walker.walk(script)
        inside = self._simple_commands(walker, start)
        if walker.trouble or any(one.unknown_name for one in inside):
            self._certain = False
        self._hidden += inside
        opened = _targets(walker)
        self._hidden.append(
            SimpleCommand(
                (),
                reads=tuple(one.path for one in opened if one.kind == "read" and one.path),
                writes=tuple(one.path for one in opened if one.kind == "write" and one.path),
                unresolved=not all(one.path for one in opened),
            )
        )
        self._collect_rule_texts(walker, depth + 1)


def _targets(walker: ScriptWalker) -> list[RedirectTarget]:
    """The files that the shell itself opens, and the directories it lists."""
    found = [target for redirect in walker.redirects if _opens_file(redirect[0]) for target in targets_of(*redirect)]
    return found + [target for pattern in walker.globs for target in listed_targets(*pattern)]


def _expands(occurrence: Occurrence) -> bool:
    return any(word.glob or word.brace for word in occurrence.command.words)


def text_problem(command: str) -> str:
    """Why text cannot be judged, whatever it means; "" if it can."""
    if not command.strip(" \t\n"):
        return "it is empty"
    if len(command) > LONGEST:
        return f"it is longer than {LONGEST} characters"
    if _has_unprintable(command):
        return "it contains control characters or invisible characters"
    if command.rstrip(" \t\n").endswith("\\"):
        return "it ends with a backslash"
    if CONTINUED.search(command):
        return "a line begins with a backslash"
    return ""


def _has_unprintable(command: str) -> bool:
    """Whether it has control, formatting or look-alike space characters: a person must see what is judged."""
    if command.isprintable():
        return False
    return not command.replace("\n", "").replace("\t", "").isprintable()


def _opens_file(redirect: Redirect) -> bool:
    """Whether a redirection opens a file: not a duplicated descriptor, a here-document or a here-string."""
    if redirect.target is None or redirect.operator == "<<<":
        return False
    source = redirect.target.source
    if redirect.operator in (">&", "<&"):
        return not (source == "-" or (source.isascii() and source.removesuffix("-").isdigit()))
    return not (source in NOWHERE and redirect.operator != "<") and source != "/dev/null"


def _shell_input_texts(walker: ScriptWalker) -> list[tuple[str, Location]]:
    """Texts that a shell at the end of a pipe may read as its script: here-documents, here-strings, echoed text."""
    found = [(redirect.body, location) for redirect, location, _ in walker.redirects if redirect.body]
    for redirect, location, _ in walker.redirects:
        if redirect.operator == "<<<" and redirect.target is not None:
            found.append((redirect.target.value, location))
    for occurrence in walker.commands:
        command = occurrence.command
        if isinstance(command, SimpleNode) and command.words and command.words[0].value in ("echo", "printf"):
            found += [(word.value, occurrence.location) for word in command.words[1:]]
            found.append((" ".join(word.value for word in command.words[1:]), occurrence.location))
    return found
