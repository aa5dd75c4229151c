"""Determines the files that a command's words may name, for Read rules and for what it would write."""

import os.path
from itertools import pairwise

from bobstay.permissions.shell import git_commands
from bobstay.permissions.shell.command_options import SPECS, ParsedArguments, sort_arguments
from bobstay.permissions.shell.embedded_scripts import unsafe_scripts
from bobstay.permissions.shell.expansion import ExpandedWord
from bobstay.permissions.shell.name_sets import names

EDITING: dict[str, frozenset[str]] = {
    "cp": frozenset({"-f", "-n", "-p", "-v"}),
    "mkdir": frozenset({"-p", "-v", "-pv"}),
    "mv": frozenset({"-f", "-n", "-v"}),
    "rm": frozenset({"-f", "-v"}),
    "rmdir": frozenset({"-p", "-v"}),
    "touch": frozenset({"-c", "-a", "-m"}),
}
"""Simple file commands, with the options that do not change what their operands mean."""
WRITERS = names("chmod chown dd install ln tee truncate unlink shred patch rsync") | EDITING.keys()
OUTPUTS: dict[str, tuple[str, ...]] = {
    "curl": ("-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar", "--output-dir"),
    "wget": ("-O", "--output-document", "-o", "--output-file", "-P", "--directory-prefix"),
    "sort": ("-o", "--output"),
    "tree": ("-o",),
    "git": ("--output",),
    "tar": ("-C", "--directory"),
    "unzip": ("-d",),
    "gcc": ("-o",),
}
"""Options that name where a command writes."""
MOST_LETTERS = 10
"""The number of letters in one word behind which an attached value may begin."""
NO_FILES = names("echo printf true false :")
"""Commands whose words are never files."""
SEARCHES = names("grep egrep fgrep rg ag ack")
"""Commands whose first operand is a pattern, unless an option gives one."""
PATTERNS = names(
    "--include --exclude --exclude-dir --grep --author --committer --format --pretty --regexp --glob --iglob --ignore "
    "--message --date --name --title --body --label --since --until --type"
)
"""Long options whose value is text, not a file."""
PATTERN_LETTERS: dict[str, frozenset[str]] = {
    "git": git_commands.SOUGHT,
    "tree": frozenset({"-I", "-P"}),
    "ls": frozenset({"-I"}),
    "rg": frozenset({"-g", "-e", "-t", "-T"}),
    "grep": frozenset({"-e"}),
    "gh": frozenset({"-t", "-b", "--title", "--body"}),
}
MOVING: dict[str, tuple[str, ...]] = {
    "env": ("-C", "--chdir"),
    "git": ("-C", "--work-tree"),
    "make": ("-C", "--directory"),
    "sudo": ("-D", "--chdir"),
    "tar": ("-C", "--directory"),
}
"""Options that set the directory in which a command works."""
GREPS = names("grep egrep fgrep")
PACKERS = names("diff cp scp tar zip rsync 7z cpio")
"""Commands that read directories recursively; the first three only with an option."""
DIRECTORY_READERS = SEARCHES | PACKERS | {"git"}
FIND_RUNS = names("-exec -execdir -ok -okdir")
FIND_FILES = frozenset({"-newer", "-anewer", "-cnewer", "-samefile", "-fprint", "-fprint0", "-fls", "-files0-from"})


def read_by(words: list[ExpandedWord]) -> tuple[list[str], bool]:
    """Every word, or part of a word, that may be a file; and whether some word is not known."""
    name = words[0].value.rpartition("/")[2]
    if name in NO_FILES:
        return [], False
    if name == "find":
        words = _searched(words)
    elif name in SEARCHES:
        return _read_by_search(name, words[1:])
    found: list[str] = []
    unknown = False
    texts = PATTERN_LETTERS.get(name, frozenset())
    if name == "git" and not git_commands.MESSAGED.isdisjoint(word.value for word in words[1:]):
        texts = texts | git_commands.MESSAGE
    rest = iter(words[1:])
    for word in rest:
        if word.value in texts and not word.dynamic:
            next(rest, None)
            continue
        if word.pipe:
            continue
        unknown = unknown or word.dynamic or word.glob or word.counted
        unknown = unknown or (word.source.startswith("~") and not _is_own_home(word.source))
        if not word.dynamic:
            found += _parts(word.value)
    return found, unknown


def working_directories(names: set[str], words: list[ExpandedWord]) -> list[str]:
    """The directories that options of these programs set as their working directory."""
    options = {option for name in names for option in MOVING.get(name, ())}
    found: list[str] = []
    for before, word in pairwise(words):
        for option in options:
            given = ""
            if before.value == option:
                given = word.value
            elif word.value.startswith(option):
                given = word.value[len(option) :].removeprefix("=")
            if given:
                found.append(os.path.join(found[-1] if found else "", given))
    return found


def reads_unnamed_files(words: list[ExpandedWord]) -> bool:
    """Whether it reads files that its words do not name, but a list, a script or another directory does."""
    name, arguments = words[0].value.rpartition("/")[2], words[1:]
    values = [word.value for word in arguments]
    if unsafe_scripts(name, values) or (name == "strings" and any(value.startswith("@") for value in values)):
        return True
    spec = SPECS.get(name)
    if spec is None:
        return False
    parsed = sort_arguments(spec, arguments)
    return bool(parsed.leaves) or (name == "file" and bool(parsed.refused))


def _is_own_home(source: str) -> bool:
    return source == "~" or source.startswith("~/")


def _searched(words: list[ExpandedWord]) -> list[ExpandedWord]:
    """The starting points of find and the files its tests name; its patterns are not files."""
    found = words[:1]
    position = 1
    while position < len(words) and not words[position].value.startswith(("-", "(", "!")):
        found.append(words[position])
        position += 1
    for before, word in zip(words[position:], words[position + 1 :], strict=False):
        if before.value in FIND_FILES:
            found.append(word)
    if any(word.value.startswith(("-exec", "-ok")) for word in words):
        found += words[position:]
    return found


def _read_by_search(name: str, arguments: list[ExpandedWord]) -> tuple[list[str], bool]:
    """The files given to a search; its pattern is not one, unless it may expand to several words."""
    files, values = _search_files(name, arguments)
    loose = [word for word in arguments if (word.dynamic or word.glob or word.counted) and not word.pipe]
    unknown = any(word.splits or word.glob or word in files for word in loose)
    found = [part for word in files if not word.dynamic and not word.pipe for part in _parts(word.value)]
    options = [word.value for word in arguments if word.value.startswith("--") and not word.dynamic]
    return found + values + [part for value in options for part in _parts(value)], unknown


def _search_files(name: str, arguments: list[ExpandedWord]) -> tuple[list[ExpandedWord], list[str]]:
    parsed = sort_arguments(SPECS.get(name, SPECS["grep"]), arguments)
    return _files_of(name, parsed), parsed.files


def _files_of(name: str, parsed: ParsedArguments) -> list[ExpandedWord]:
    return parsed.operands if parsed.patterned or name not in SPECS else parsed.operands[1:]


def _parts(value: str) -> list[str]:
    """The word itself, and its parts behind `=`, `@`, `:` or option letters."""
    option, equals, given = value.partition("=")
    if value.startswith("--"):
        found = [given] if equals and option not in PATTERNS else []
    else:
        options = range(2, min(len(value), MOST_LETTERS)) if value.startswith("-") else range(1)
        found = [*(value[start:] for start in options), given]
    more: list[str] = []
    for one in found:
        more += [one.partition("@")[2], one.partition(":")[2].removeprefix("//")]
        if one.startswith("file:"):
            more.append(one.removeprefix("file:").removeprefix("//"))
    return [one for one in (*found, *more) if one and one != "-"]


def forwards_names(names: set[str], words: list[ExpandedWord]) -> bool:
    """Whether it forwards names of files that its words do not contain."""
    return "xargs" in names or "parallel" in names or any(word.value in FIND_RUNS for word in words)


def directories_read_by(words: list[ExpandedWord], *, piped: bool) -> list[str]:
    """The directories whose files it reads without naming them."""
    name = words[0].value.rpartition("/")[2]
    values = [word.value for word in words[1:]]
    operands = [value for value in values if not value.startswith("-")]
    if name == "git":
        return ["."] if operands[:1] == ["grep"] else []
    if name in SEARCHES:
        if name in GREPS and not _has_letter(values, "rRd", "--recursive", "--dereference-recursive", "--directories"):
            return []
        parsed = sort_arguments(SPECS.get(name, SPECS["grep"]), words[1:])
        files = [file.value for file in _files_of(name, parsed) if not file.pipe]
        return [*files, "."] if parsed.vague or not (files or piped) else files
    if name == "diff" and not _has_letter(values, "r", "--recursive"):
        return [value for value in operands if "." not in os.path.basename(value).strip(".")]  # they may be directories
    if name in ("cp", "scp") and not _has_letter(values, "rRa", "--recursive", "--archive"):
        return []
    return operands if name in PACKERS else []


def _has_letter(values: list[str], letters: str, *options: str) -> bool:
    for value in values:
        if value.startswith("--"):
            if len(value) > 2 and any(option.startswith(value.partition("=")[0]) for option in options):
                return True
        elif value.startswith("-") and not set(letters).isdisjoint(value):
            return True
    return False


def written_by(words: list[ExpandedWord]) -> list[str]:
    """All operands of a command that writes, and the targets of copies into a directory."""
    name = words[0].value.rpartition("/")[2]
    values = [word.value for word in words[1:] if not word.dynamic]
    found = _outputs(name, values)
    in_place = name == "sed" and any(value.startswith(("-i", "--in-place")) for value in values)
    if name not in WRITERS and not in_place:
        return found
    operands = [value for value in values if not value.startswith("-")]
    if name in ("chmod", "chown") or in_place:
        return found + operands[1:]
    if name == "dd":
        return [value.partition("=")[2] for value in values if value.startswith("of=")]
    if name in ("cp", "mv", "ln", "install", "rsync") and len(operands) > 1:
        target = operands[-1]
        operands = operands + [f"{target}/{os.path.basename(source.rstrip('/'))}" for source in operands[:-1]]
    return found + operands


def _outputs(name: str, values: list[str]) -> list[str]:
    options = OUTPUTS.get(name, ())
    found: list[str] = []
    for position, value in enumerate(values):
        for option in options:
            if value == option:
                found += values[position + 1 : position + 2]
            elif option.startswith("--"):
                if value.startswith(option + "="):
                    found.append(value.partition("=")[2])
            elif value.startswith(option) and not value.startswith("--"):
                found.append(value[2:])
    return found


def is_simple_edit(words: list[ExpandedWord]) -> bool:
    known = EDITING.get(words[0].value)
    if known is None or any(word.dynamic or word.glob or word.counted for word in words):
        return False
    return all(word.value in known for word in words[1:] if word.value.startswith("-"))
