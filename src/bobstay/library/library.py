"""Library: the commands, skills and agents that apply to a session, the winners of each name."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from bobstay.library.definition import AgentDefinition, CommandDefinition, LibraryNotice, OutputStyle

T = TypeVar("T", AgentDefinition, OutputStyle)


class PluginDefinitions(Struct, frozen=True):
    """The definitions of one plugin, named after it."""

    commands: tuple[CommandDefinition, ...] = ()
    agents: tuple[AgentDefinition, ...] = ()
    styles: tuple[OutputStyle, ...] = ()


class Library(Struct, frozen=True):
    """Sorted by name, so that the model gets the same bytes each time."""

    commands: tuple[CommandDefinition, ...] = ()
    """Commands and skills. Those that people may not call, or models may not, are among them."""
    agents: tuple[AgentDefinition, ...] = ()
    notices: tuple[LibraryNotice, ...] = ()

    def find_command(self, name: str) -> CommandDefinition | None:
        """Return the command or skill of this name; case matters, a slash before it does not."""
        name = name.removeprefix("/")
        exact = next((each for each in self.commands if each.key == name), None)
        return exact or next((each for each in self.commands if each.name == name), None)

    def find_agent(self, name: str) -> AgentDefinition | None:
        """Return the agent of this type; case does not matter."""
        folded = name.casefold()
        return next((each for each in self.agents if each.name.casefold() == folded), None)

    def add_skills(self, skills: Sequence[CommandDefinition]) -> "Library":
        """Return a library that also has skills of subfolders. A name that is taken gets its folder before it."""
        taken = {each.key for each in self.commands}
        named = [
            replace(each, name=f"{each.scope}:{each.name}", aliases=()) if each.key in taken and each.scope else each
            for each in skills
        ]
        return replace(self, commands=choose_commands((*self.commands, *named)))


def choose_commands(found: Iterable[CommandDefinition]) -> tuple[CommandDefinition, ...]:
    """Select the first of each name from definitions in order of precedence.

    Skills come before commands, and what nobody vouched for comes last.
    """
    ordered = sorted(found, key=lambda each: (not each.origin.trusted, each.kind == "command"))
    chosen: dict[str, CommandDefinition] = {}
    for each in ordered:
        chosen.setdefault(each.key, each)
    return tuple(sorted(chosen.values(), key=lambda each: each.name))


def choose_named(found: Iterable[T]) -> tuple[T, ...]:
    """Select the first of each name, whatever its case, from definitions in order of precedence."""
    chosen: dict[str, T] = {}
    for each in found:
        chosen.setdefault(each.name.casefold(), each)
    return tuple(sorted(chosen.values(), key=lambda each: each.name))
