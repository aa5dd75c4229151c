"""Detects arguments that make a command run or write something: no rule with a wildcard allows these."""

from itertools import pairwise

from bobstay.permissions.shell import git_commands
from bobstay.permissions.shell.command_options import SPECS, sort_arguments
from bobstay.permissions.shell.embedded_scripts import printf_assigns, unsafe_scripts
from bobstay.permissions.shell.expansion import ExpandedWord
from bobstay.permissions.shell.name_sets import names
from bobstay.permissions.shell.wrappers import EXEC_WRAPPERS, TRANSPARENT

FIND = names("-delete -exec -execdir -fls -fprint -fprint0 -fprintf -ok -okdir -files0-from")
ALIASES = {"gawk": "awk", "mawk": "awk", "nawk": "awk", "gsed": "sed", "gtar": "tar", "gfind": "find"}
BUILTINS = names(
    "alias bind declare enable export getopts hash local mapfile read readarray readonly set shopt typeset unalias "
    "unset"
)
"""They change the meaning of later commands in the same shell."""
CHECKED = names("find awk sed")
SCRIPTED = names("awk gawk mawk nawk sed gsed git")
"""Commands whose arguments may contain programs in another language than the shell's."""


def is_hazardous(words: list[ExpandedWord]) -> bool:
    """Whether this simple command runs or writes what its arguments say, or may."""
    name = words[0].value.rpartition("/")[2]
    name = ALIASES.get(name, name)
    arguments = words[1:]
    if name in EXEC_WRAPPERS or name in BUILTINS or name in TRANSPARENT:
        return True  # the command behind a wrapper that could not be removed is not known
    if name in ("printf", "test", "["):
        return any(word.value.startswith(("-v", "-R")) for word in arguments) or (
            name == "printf" and any(word.dynamic or word.glob or printf_assigns(word.value) for word in arguments[:1])
        )
    if name in ("rm", "rmdir"):
        return any(word.dynamic and not word.value.strip("-") for word in arguments)
    if name == "git":
        return git_commands.is_hazardous(arguments)
    spec = SPECS.get(name)
    if spec is not None and (spec.hazards or spec.long_hazards):
        if name == "tar" and arguments and not arguments[0].value.startswith("-"):
            arguments = [ExpandedWord("-" + arguments[0].value, arguments[0].source), *arguments[1:]]
        return bool(sort_arguments(spec, arguments).refused) or _may_become_option(arguments)
    if name in CHECKED:
        return _may_become_option(arguments) or _runs_or_deletes(name, [word.value for word in arguments])
    return False


def _runs_or_deletes(name: str, values: list[str]) -> bool:
    if name == "find":
        return not FIND.isdisjoint(values)
    return bool(unsafe_scripts(name, values))


def embedded_programs(words: list[ExpandedWord]) -> list[str]:
    """Arguments of one of `SCRIPTED` that may name commands to run."""
    name = words[0].value.rpartition("/")[2]
    name = ALIASES.get(name, name)
    values = [word.value for word in words[1:]]
    if name == "git":
        return [value.partition("=")[2].lstrip("!") for before, value in pairwise(["", *values]) if before == "-c"]
    return unsafe_scripts(name, values)


def _may_become_option(arguments: list[ExpandedWord]) -> bool:
    """Whether a word that is not literal may become an option."""
    for argument in arguments:
        if argument.value == "--" and not argument.dynamic:
            return False
        if argument.dynamic and not argument.pipe and not argument.value.strip("-"):
            return True
        if argument.glob and argument.value[:1] in "*?[":
            return True
    return False
