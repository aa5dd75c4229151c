"""Generates shell commands: ordinary ones, attacks, and everything between the two."""

import shlex
from random import Random

from tests.fuzz import arguments, benign, forwarding, hostile, shapes
from tests.fuzz.mutation import mutate, respell
from tests.fuzz.rule_sets import RuleSet


class Generator:
    """Draws commands for one rule set; the same dice give the same commands."""

    def __init__(self, dice: Random, rule_set: RuleSet) -> None:
        self.dice = dice
        self.payloads = hostile.DENIED_PAYLOADS if rule_set.broad else hostile.PAYLOADS
        self.shapes = shapes.PLAIN if rule_set.broad else shapes.SHAPES
        self.tools = not rule_set.broad
        ruled = [command for rule in rule_set.allow for command in benign.RULED.get(rule, ())]
        self.pools = (benign.COMMANDS, tuple(ruled) or benign.COMMANDS)

    def command(self) -> str:
        found = self._command()
        chance = self.dice.random()
        if chance < 0.15:
            return mutate(self.dice, found, self.ordinary(0), self.word())
        return respell(self.dice, found) if chance < 0.25 else found

    def ordinary(self, depth: int) -> str:
        """A harmless command, or several of them combined."""
        if depth and self.dice.random() < 0.7:
            frame = self.dice.choice(benign.FRAMES)
            return frame.format(self.ordinary(depth - 1), self.ordinary(depth - 1))
        found = self.dice.choice(self.pools[self.dice.random() < 0.25])
        chance = self.dice.random()
        if chance < 0.15:
            found = self.dice.choice(benign.PREFIXES) + found
        elif chance < 0.35:
            found += f" | {self.dice.choice(benign.FILTERS)}"
        elif chance < 0.45:
            found += self.dice.choice(benign.SUFFIXES)
        elif chance < 0.6:
            found += f" {self.dice.choice(benign.WORDS + benign.FILES)}"
        return found

    def payload(self) -> str:
        found = self.dice.choice(self.payloads)
        return self._in_shape(found) if self.dice.random() < 0.1 else found

    def word(self) -> str:
        """A word that runs something, or seems to."""
        return self.dice.choice(hostile.WORDS).format(P=self.payload())

    def tool(self) -> str:
        """A program that only reads, with options and operands that may change that."""
        if self.dice.random() < 0.3:
            return self._git()
        name = self.dice.choice(list(arguments.OPTIONS))
        words = [name, *self._options(arguments.OPTIONS[name])]
        scripts = {"sed": arguments.SED_SCRIPTS, "awk": arguments.AWK_SCRIPTS, "jq": arguments.JQ_SCRIPTS}.get(name)
        if scripts is not None:
            words.insert(self.dice.randint(1, len(words)), shlex.quote(self.dice.choice(scripts)))
        elif name in ("grep", "rg") and self.dice.random() < 0.7:
            words.append("foo")
        words += [self.dice.choice(arguments.OPERANDS) for _ in range(self.dice.choice((0, 1, 1, 1, 2)))]
        return " ".join(words)

    def _command(self) -> str:
        kind = self.dice.random()
        if kind < 0.42:
            return self.ordinary(self.dice.choice((0, 0, 1, 1, 2)))
        if kind < 0.54:
            return self._with_word(self.ordinary(0))
        if kind < 0.75 and self.tools:
            return self.tool() if self.dice.random() < 0.7 else self._in_frame(self.tool())
        if kind < 0.87 and self.tools:
            return self._forwarding()
        return self._in_shape(self.payload())

    def _forwarding(self) -> str:
        """Names forwarded from one command to another, or a command behind wrappers."""
        match self.dice.randrange(6):
            case 0 | 1 | 2:
                return forwarding.piped(self.dice, self.ordinary(0), self.payload())
            case 3:
                return forwarding.run_by_find(self.dice, self.payload())
            case 4:
                return forwarding.wrapped(self.dice, self.ordinary(0))
            case _:
                return forwarding.wrapped(self.dice, self.payload())

    def _in_shape(self, payload: str) -> str:
        return self.dice.choice(self.shapes).format(P=payload, B=self.ordinary(0))

    def _in_frame(self, command: str) -> str:
        return self.dice.choice(benign.FRAMES).format(command, self.ordinary(0))

    def _with_word(self, command: str) -> str:
        """Replace a word by a dangerous one, or insert one."""
        words = command.split(" ")
        position = self.dice.randint(1, len(words))
        words[position : position + self.dice.randint(0, 1)] = [self.word()]
        return " ".join(words)

    def _git(self) -> str:
        name = self.dice.choice(list(arguments.GIT))
        words = ["git", name, *self._options(arguments.GIT[name])]
        if self.dice.random() < 0.15:
            words.insert(1, self.dice.choice(arguments.GIT_GLOBAL))
        if self.dice.random() < 0.2:
            words.append(self.dice.choice(arguments.OPERANDS))
        return " ".join(words)

    def _options(self, table: str) -> list[str]:
        """Runs of adjacent entries of the table, because an option and its value are adjacent there."""
        known = table.split()
        found: list[str] = []
        for _ in range(self.dice.choice((0, 1, 1, 2))):
            position = self.dice.randrange(len(known))
            found += known[position : position + self.dice.choice((1, 1, 2, 3))]
        value = self.dice.choice(arguments.VALUES)
        return [shlex.quote(value if word == "F" else _filled(word, value)) for word in found]


def _filled(option: str, value: str) -> str:
    for ending in ("=F", "fF", "XF", "rF", "SF", "OF"):
        if option.endswith(ending):
            return option[:-1] + value
    return option
