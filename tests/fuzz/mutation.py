"""Random mutations of the text of a command, where shell parsers differ most."""

import re
from random import Random

TOKENS = (
    ";",
    "&",
    "|",
    "&&",
    "\n",
    "\\",
    "\\\n",
    "\n\\",
    "'",
    '"',
    "$",
    "`",
    "(",
    ")",
    "{",
    "}",
    "#",
    " #",
    "\r",
    "\t",
    "\u00a0",
    "\u200b",
    "\u2028",
    "\x00",
    "\x0b",
    "!",
    "*",
    "~",
    "=",
    "[",
    "]",
    "<",
    ">",
    "<<E",
    "<<<",
    "$'",
    '$"',
    "$(",
    "$((",
    "${",
    "<(",
    ">pwned",
    " > pwned",
    ";marker",
    "\nmarker",
    "\nmarker\n",
    "|marker",
    "&marker",
    "$(marker)",
    "`marker`",
    "${IFS}",
    "é",
    "\ud800",
    " ",
    "  ",
    "%",
    "^",
    "-",
    ",",
    "&>",
    ">&",
    "2>",
    "if ",
    " then ",
    " do ",
    "esac",
    "\\'",
    '\\"',
    "\\$",
    "\\`",
)
QUOTES = ("'{}'", '"{}"', "$'{}'", '$"{}"', "\\{}", "`{}`", "$({})", "{{{},}}", "({})", "<({})", "${{{}}}", "#{}")


def mutate(dice: Random, command: str, other: str, word: str) -> str:
    """Mutate `command` in one to three positions, possibly with text of `other`, or with `word` inserted."""
    for _ in range(dice.choice((1, 1, 2, 3))):
        command = _mutate_once(dice, command, other, word)
    return command


def respell(dice: Random, command: str) -> str:
    """Quote some words differently; the shell reads the same."""
    return " ".join(_respell_word(dice, word) if dice.random() < 0.3 else word for word in command.split(" "))


def _respell_word(dice: Random, word: str) -> str:
    if not re.fullmatch(r"[\w./:-]+", word, re.ASCII):
        return word
    position = dice.randint(0, len(word) - 1)
    before, letter, after = word[:position], word[position], word[position + 1 :]
    match dice.randrange(8):
        case 0:
            return f"'{word}'"
        case 1:
            return f'"{word}"'
        case 2:
            return f"{before}\\{letter}{after}"
        case 3:
            return f"{before}''{letter}{after}"
        case 4:
            return f'{before}"{letter}"{after}'
        case 5:
            return f"$'{before}\\x{ord(letter):02x}{after}'"
        case 6:
            return f"$'{before}\\{ord(letter):03o}'{after}"
        case _:
            return f"{before}$'{letter}'\"{after}\""


def _mutate_once(dice: Random, command: str, other: str, word: str) -> str:
    position = dice.randint(0, len(command))
    end = min(len(command), position + dice.choice((1, 1, 2, 5)))
    words = command.split(" ")
    chosen = dice.randrange(len(words))
    match dice.randrange(10):
        case 0 | 1 | 2:
            return command[:position] + dice.choice(TOKENS) + command[position:]
        case 3:
            return command[:position] + command[end:]
        case 4:
            return command[:end] + command[position:]
        case 5:
            cut = dice.randint(0, len(other))
            return command[:position] + other[cut:]
        case 6:
            words[chosen] = dice.choice(QUOTES).format(words[chosen])
        case 7:
            words[chosen] = word
        case 8:
            words.insert(chosen, words[dice.randrange(len(words))])
        case _:
            return command.replace(" ", dice.choice(("\t", "${IFS}", "\n", "\u00a0", "\\\n", " \\\n", "  ")), 1)
    return " ".join(words)
