"""Analyses one simple command or redirection in the directory in which it would run."""

from bobstay.permissions.path_resolution import FileSystemView
from bobstay.permissions.shell.analysis import RedirectTarget, SimpleCommand
from bobstay.permissions.shell.expansion import ExpandedWord, Variables, expand, readings
from bobstay.permissions.shell.hazards import is_hazardous
from bobstay.permissions.shell.operands import (
    DIRECTORY_READERS,
    directories_read_by,
    forwards_names,
    is_simple_edit,
    read_by,
    reads_unnamed_files,
    working_directories,
    written_by,
)
from bobstay.permissions.shell.readonly import glob_base, is_read_only, is_read_only_double_test
from bobstay.permissions.shell.rule_texts import command_positions
from bobstay.permissions.shell.script_walker import Location, Occurrence, ScriptWalker
from bobstay.permissions.shell.syntax import UNQUOTED, Redirect, SimpleNode, Test, Word
from bobstay.permissions.shell.wrappers import XARGS_INPUT, is_harmless_assignment, strip_harmless

MOST = 20
"""Commands behind wrappers in one command that are analysed for what they read; with more, that is unknown."""


MORE_WORDS = "\0"
"""A word that no rule can contain."""
MOST_READ = 2000
"""Paths in other directories that are analysed; with more, what it reads is unknown."""


def analyze_simple_command(
    occurrence: Occurrence, walker: ScriptWalker, cwd: str, view: FileSystemView
) -> SimpleCommand:
    command = occurrence.command
    if isinstance(command, Test):
        return _analyze_test(command, occurrence, view)
    if not command.words:
        return _analyze_assignment(command)
    found = [
        _analyze_reading(command, words, occurrence, walker, cwd, view)
        for words in readings(command.words, occurrence.variables)
    ]
    return found[0] if len(found) == 1 else _merge(found)


def targets_of(redirect: Redirect, location: Location, variables: Variables) -> list[RedirectTarget]:
    """The files that a redirection opens: one for each directory in which it may run."""
    target = redirect.target
    if target is None:
        return []
    words = [word for way in expand(target, variables) for word in way]
    found: list[RedirectTarget] = []
    for kind in (
        ("read", "write") if redirect.operator == "<>" else ("read",) if redirect.operator == "<" else ("write",)
    ):
        if target.tilde or target.brace or any(word.dynamic or word.glob or word.counted for word in words):
            found.append(RedirectTarget(kind, "", target.source))
            continue
        for word in words:
            if location.path is None and not word.value.startswith("/"):
                found.append(RedirectTarget(kind, "", target.source))
            found += [RedirectTarget(kind, join_path(word.value, start), target.source) for start in location.all]
    return found


def listed_targets(word: Word, location: Location) -> list[RedirectTarget]:
    """The directory that the shell lists for the pattern of a loop, as a file that is read."""
    base = "" if word.dynamic or word.brace else glob_base(word.value)
    starts = location.all if base and (location.path is not None or base.startswith(("/", "~"))) else ()
    return [RedirectTarget("read", join_path(base, start), word.source) for start in starts] or [
        RedirectTarget("read", "", word.source)
    ]


def join_path(path: str, start: str) -> str:
    return path if path.startswith(("/", "~")) or not path else f"{start}/{path}"


def _analyze_test(command: Test, occurrence: Occurrence, view: FileSystemView) -> SimpleCommand:
    words = [expand(word, {})[0][0] for word in command.words]
    source = " ".join(["[[", *(word.source for word in command.words), "]]"])
    read_only = is_read_only_double_test(words, occurrence.location.path, view)
    return SimpleCommand((source,), exact_only=True, read_only=read_only)


def _analyze_assignment(command: SimpleNode) -> SimpleCommand:
    """Assignments, which need an exact rule, or only redirections, which are judged separately."""
    texts = (
        " ".join(_normalised_text(word) for word in command.assignments),
        " ".join(word.source for word in command.assignments),
    )
    return SimpleCommand(texts, exact_only=True, read_only=not command.assignments)


def _analyze_reading(
    command: SimpleNode,
    words: list[ExpandedWord],
    occurrence: Occurrence,
    walker: ScriptWalker,
    cwd: str,
    view: FileSystemView,
) -> SimpleCommand:
    if not command.words[0].literal or not words[0].value.isascii() or words[0].value in ("", "let"):
        return SimpleCommand((), exact_only=True, unknown_name=True)
    location = occurrence.location
    safe = all(map(is_harmless_assignment, command.assignments))
    forms = list(strip_harmless(words)) if safe else [words]
    last = forms[-1]
    reads, unknown = read_by(words)
    writes = written_by(last)
    begins = command_positions([one.value for one in words])
    names = {words[index].value.rpartition("/")[2] for index in begins}
    others = working_directories(names, words)
    too_many = len(begins) > MOST or len(others) * len(reads) > MOST_READ
    if not too_many:
        reads += [f"{other}/{path}" for other in others for path in reads if not path.startswith(("/", "~"))]
    git_after_cd = walker.moved and "git" in names
    directories: list[str] = []
    if not names.isdisjoint(DIRECTORY_READERS):
        readers = (index for index in begins if words[index].value.rpartition("/")[2] in DIRECTORY_READERS)
        directories = [
            path
            for index in list(readers)[:MOST]
            for path in directories_read_by(words[index:], piped=occurrence.piped)
        ]
    exact_only = not safe or is_hazardous(last)
    read_only = safe and not git_after_cd and is_read_only(last, location.path, view)
    forwarded = safe and not git_after_cd and not read_only and _is_read_only_with_names(last, occurrence, walker, view)
    return SimpleCommand(
        _allow_texts(command, forms if safe else []),
        exact_only=exact_only,
        expands=exact_only and any(word.glob or word.brace for word in command.words),
        read_only=read_only or forwarded,
        forwarded=forwarded,
        edits=safe and bool(writes) and is_simple_edit(last) and location.path is not None,
        reads=_absolute(reads, location, cwd),
        writes=_absolute(writes, location, cwd),
        unresolved=unknown
        or forwards_names(names, words)
        or too_many
        or any(reads_unnamed_files(words[index:]) for index in begins)
        or (location.path is None and bool(reads or directories)),
        read_directories=_absolute(directories, location, cwd),
        refused="It changes the directory and runs git, which may run programs configured there"
        if git_after_cd
        else "",
    )


def _is_read_only_with_names(
    words: list[ExpandedWord], occurrence: Occurrence, walker: ScriptWalker, view: FileSystemView
) -> bool:
    """Whether it only reads files whose names are forwarded to it, all of which are inside now."""
    if (words[0].value not in ("find", "xargs") and words[-1] is not XARGS_INPUT) or walker.searches == 0:
        return False
    walker.searches -= 1
    from bobstay.permissions.shell.forwarded_names import is_read_only_with_names  # few commands need it

    return is_read_only_with_names(words, occurrence, view)


def _allow_texts(command: SimpleNode, forms: list[list[ExpandedWord]]) -> tuple[str, ...]:
    """The texts that allow rules are matched with: with all words before the command, and without harmless prefixes."""
    whole = [*command.assignments, *command.words]
    found: dict[str, None] = {}
    stripped = [(len(forms[0]) - _length(form), form[-1] is XARGS_INPUT) for form in forms]
    for words, open_end in ((whole, False), *((command.words[count:], is_open) for count, is_open in stripped)):
        # `xargs` appends words, so a rule must leave its end open.
        end = f" {MORE_WORDS}" if open_end else ""
        found[" ".join(map(_normalised_text, words)) + end] = None
        found[" ".join(word.source for word in words) + end] = None
    return tuple(found)


def _length(form: list[ExpandedWord]) -> int:
    """The number of words in the source, without the one that stands for `xargs` input."""
    return sum(1 for word in form if word.source)


def _normalised_text(word: Word) -> str:
    value = word.value
    return value if value and word.literal and UNQUOTED.issuperset(value) else word.source


def _absolute(paths: list[str], location: Location, cwd: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(join_path(path, start) for path in paths for start in location.all or (cwd,)))


def _merge(found: list[SimpleCommand]) -> SimpleCommand:
    """One result for all readings of a command: as strict as the strictest of them."""
    return SimpleCommand(
        found[0].texts,
        exact_only=any(one.exact_only for one in found),
        expands=any(one.expands for one in found),
        forwarded=any(one.forwarded for one in found),
        read_only=all(one.read_only for one in found),
        edits=all(one.edits for one in found),
        reads=tuple(dict.fromkeys(path for one in found for path in one.reads)),
        writes=tuple(dict.fromkeys(path for one in found for path in one.writes)),
        unresolved=any(one.unresolved for one in found),
        read_directories=tuple(dict.fromkeys(path for one in found for path in one.read_directories)),
        refused=next((one.refused for one in found if one.refused), ""),
        unknown_name=any(one.unknown_name for one in found),
    )
