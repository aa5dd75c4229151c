"""Reads one plain simple command. Lists, pipelines, redirections and expansions are not understood here."""

import os.path

from bobstay.permissions.paths import World, locate
from bobstay.permissions.shell.hazards import is_hazardous
from bobstay.permissions.shell.lexer import Word, segments
from bobstay.permissions.shell.prefixes import EXEC_WRAPPERS, SHELLS, harmless, inside, rough_pieces
from bobstay.permissions.shell.reading import Reading, Simple
from bobstay.permissions.shell.readonly import files, is_tame, operands
from bobstay.permissions.shell.tables import names

EDITING: dict[str, frozenset[str]] = {
    "cp": frozenset({"-f", "-n", "-p", "-v"}),
    "mkdir": frozenset({"-p", "-v", "-pv"}),
    "mv": frozenset({"-f", "-n", "-v"}),
    "rm": frozenset({"-f", "-v"}),
    "rmdir": frozenset({"-p", "-v"}),
    "touch": frozenset({"-c", "-a", "-m"}),
}
"""Simple file commands, with the options under which they do just what they look like."""
WRITERS = names("chmod chown dd install ln tee truncate unlink shred") | EDITING.keys()
REMOVERS = frozenset({"rm", "rmdir"})
NOT_FILES = frozenset({"echo", "printf", "true", "false", ":"})


def words(command: str) -> list[str] | None:
    """The words of one plain simple command, unquoted; None if it is anything else."""
    found = _plain(command)
    return None if found is None else [word.value for word in found]


def is_read_only(command: str, cwd: str, directories: tuple[str, ...], *, home: str = "/nonexistent") -> bool:
    """Whether the command provably only looks, and only inside `directories`, the first of which is the root."""
    if not directories:
        return False
    found = _plain(command)
    if found is None:
        return False
    world = World(directories[0], home, directories[1:])
    return _is_read_only(found, cwd, world)


def read(command: str, cwd: str, world: World) -> Reading:
    """Read a shell command that would run in `cwd`."""
    text = command.strip(" \t\n")
    suspects = tuple(dict.fromkeys((text, *inside(text))))
    listed = segments(text)
    found = listed[0] if listed is not None and len(listed) == 1 else None
    critical = _critical(text, listed, cwd, world)
    if found is None:
        return Reading((), suspects, listed is not None and _is_certain(listed), critical)
    return Reading((_simple(found, cwd, world),), suspects, _is_certain([found]), critical)


def _plain(command: str) -> list[Word] | None:
    found = segments(command.strip(" \t\n"))
    return found[0] if found is not None and len(found) == 1 else None


def _simple(found: list[Word], cwd: str, world: World) -> Simple:
    forms = list(harmless(found))
    values = [word.value for word in forms[-1]]
    name, arguments = values[0], values[1:]
    sources = (" ".join(word.source for word in form) for form in forms)
    texts = tuple(dict.fromkeys((*(" ".join(word.text for word in form) for form in forms), *sources)))
    writes = _written(name.rpartition("/")[2], arguments)
    return Simple(
        texts,
        exact_only=is_hazardous(values) or "=" in forms[-1][0].source,
        read_only=is_tame(values, cwd, world),
        edits=bool(writes) and _is_plain_edit(name, arguments),
        reads=() if name in NOT_FILES else tuple(_readable(name, arguments)),
        writes=tuple(writes),
    )


def _is_read_only(found: list[Word], cwd: str, world: World) -> bool:
    *_, last = harmless(found)
    return is_tame([word.value for word in last], cwd, world)


def _readable(name: str, arguments: list[str]) -> list[str]:
    """Operands that may be files; the message of a commit is not one."""
    if name == "git" and "-m" in arguments:
        position = arguments.index("-m")
        arguments = arguments[:position] + arguments[position + 2 :]
    found = files(name, arguments)
    return found + [
        file.lstrip("@").partition("=")[2] or file.lstrip("@") for file in found if "=" in file or "@" in file
    ]


def _written(name: str, arguments: list[str]) -> list[str]:
    """All operands of a command that writes, and where a copy into a directory would end up."""
    if name not in WRITERS:
        return []
    found = operands(arguments)
    if name in ("chmod", "chown"):
        return found[1:]
    if name == "dd":
        return [word.partition("=")[2] for word in found if word.startswith("of=")]
    if name in ("cp", "mv", "ln", "install") and len(found) > 1:
        target = found[-1]
        found = found + [f"{target}/{os.path.basename(source.rstrip('/'))}" for source in found[:-1]]
    return found


def _is_plain_edit(name: str, arguments: list[str]) -> bool:
    known = EDITING.get(name)
    if known is None:
        return False
    return all(argument in known for argument in arguments if argument.startswith("-"))


def _is_certain(listed: list[list[Word]]) -> bool:
    """Whether what these words run can be told: scripts handed to a shell must hold no expansion either."""
    for group in listed:
        names = {word.value.rpartition("/")[2] for word in group}
        if not names.isdisjoint(SHELLS | EXEC_WRAPPERS) and any(_is_dynamic(word.value) for word in group):
            return False
    return True


def _is_dynamic(value: str) -> bool:
    return any(character in value for character in "$`\\*?{[<")


def _critical(text: str, listed: list[list[Word]] | None, cwd: str, world: World) -> str:
    """Why the command may remove what nobody wants removed, however it is wrapped."""
    if "rm" not in text:
        return ""
    groups = rough_pieces(text) if listed is None else [[word.value for word in group] for group in listed]
    if listed is not None:
        groups += [piece for group in groups for value in group if " " in value for piece in rough_pieces(value)]
    for group in groups:
        names = [value.rpartition("/")[2] for value in group]
        for position, name in enumerate(names):
            if name not in REMOVERS:
                continue
            for operand in group[position + 1 :]:
                if not operand.startswith("-") and (why := _disaster(operand, cwd, world)):
                    return why
    if listed is None and any(sign in text for sign in ("$", "`")) and _removes_below_variable(text):
        return "it removes files below a variable that may be empty"
    return ""


def _disaster(operand: str, cwd: str, world: World) -> str:
    base = operand.rstrip("*").rstrip("/") or "/"
    if operand.endswith("*") and not operand.endswith("/*") and operand != "*":
        base = operand
    located = locate("." if operand == "*" else base, cwd, world)
    for path in located.spellings:
        if path.count("/") == 1:
            return f"it would remove {path}, at the top of the file system"
        if operand != "*" and (world.leads_to_work(path) or cwd == path or cwd.startswith(path + "/")):
            return f"it would remove {path}, which holds the work, the shell or the home"
    return ""


def _removes_below_variable(text: str) -> bool:
    """`rm -rf $X/`, `"$X"/*`, `${X}/..`: a slash or a glob directly after an expansion."""
    bare = text.replace('"', "").replace("'", "").replace("\\", "")
    position = bare.find("rm")
    if position < 0:
        return False
    rest = bare[position:]
    for index, character in enumerate(rest):
        if character != "$":
            continue
        end = index + 1
        if rest[end : end + 1] == "{":
            end = rest.find("}", end) + 1 or len(rest)
        else:
            while end < len(rest) and (rest[end].isalnum() or rest[end] == "_"):
                end += 1
        if rest[end : end + 1] in ("/", "*"):
            return True
    return False
