"""Recognises sed, awk and jq scripts that only transform text."""

import re

ADDRESS = re.compile(r"[0-9]+(?:~[0-9]+)?|\$")
STEP = re.compile(r",[+~][0-9]+")
SIMPLE_COMMANDS = frozenset("pPdD=nNgGhHxlz")
TEXT = re.compile(r"(?:\\\n?|[ \t])[^\\\n]*(?=\n|\Z)")
"""The text of `a`, `i` and `c`: the rest of one line, without a continuation."""
OTHER_DELIMITER = re.compile(r"\\[,|#%@:!~_=+]")
"""The beginning of an address with a delimiter other than a slash."""
LABEL = re.compile(r"[ \t]*[A-Za-z0-9_]*[ \t]*(?=[;}\n]|\Z)")
"""On the same line: the next line is another command."""
COUNT = re.compile(r"[ \t]*[0-9]*")
FLAGS = re.compile(r"[gpiImM0-9]*")
AWK_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')
AWK_KNOWN = re.compile(rf'(?:[^"/#\\]+|{AWK_TEXT.pattern})*')
"""The beginning of a program in which it is certain what is a string and what is not."""
AWK_SIGNS = re.compile(r"(?<![A-Za-z_])print|\|\||[(){};>|]")
AWK_WORDS = re.compile(r"system|getline|@|ARGV|ARGC|SYMTAB|FUNCTAB|PROCINFO|fflush|close|\|&|/inet")
STORES = re.compile(r"%[^A-Za-z\\]*[hjlLtz]*n")
SED_FLAGS = frozenset({"-n", "-E", "-r", "-s", "-u", "-z", "--quiet", "--silent", "--regexp-extended", "--posix"})
JQ_WORDS = re.compile(
    r"(?:(?<![.\w])|(?<=\.\.))(?:import|include|env|input_filename|getpath|get_search_list|halt_error)\b"
    r"|\$(?:\s|#[^\n]*\n)*(?:ENV|__prog)"
)
"""Names that read more than the input; behind a dot, each is the name of a field."""


def is_read_only_sed(script: str) -> bool:
    """Whether every command of the script is known and neither writes, reads nor runs anything."""
    at = 0
    depth = 0
    while at < len(script):
        if script[at] in " \t\n;":
            at += 1
            continue
        if script[at] == "}":
            depth -= 1
            at += 1
            continue
        at = _past_address(script, at)
        if at < 0 or at >= len(script):
            return False
        if script[at] == "{":
            depth += 1
            at += 1
            continue
        at = _past_command(script, at)
        if at < 0:
            return False
    return depth == 0


def _past_address(script: str, at: int) -> int:
    """Where the addresses before a command end, or -1 if they cannot be parsed."""
    at = _past_one_address(script, at)
    if at > 0 and (step := STEP.match(script, at)):
        at = step.end()
    elif at > 0 and script[at : at + 1] == ",":
        at = _past_one_address(script, at + 1)
    while at >= 0 and script[at : at + 1] in ("!", " ", "\t"):
        at += 1
    return at


def _past_one_address(script: str, at: int) -> int:
    first = script[at : at + 1]
    if first == "/" or (first == "\\" and OTHER_DELIMITER.match(script, at)):
        at += first == "\\"
        end = _past_pattern(script, at + 1, script[at])
        return end + (script[end : end + 1] in ("I", "M")) if end > 0 else -1
    found = ADDRESS.match(script, at)
    return found.end() if found else at


def _past_command(script: str, at: int) -> int:
    """Where the command at `at` ends, or -1 if it is not a read-only one."""
    letter = script[at]
    if letter in SIMPLE_COMMANDS:
        at += 1
    elif letter in "qQ":
        found = COUNT.match(script, at + 1)
        at = found.end() if found else at + 1
    elif letter in ":btT":
        label = LABEL.match(script, at + 1)
        return label.end() if label else -1
    elif letter in "sy":
        at = _past_substitution(script, at)
    elif letter in "aic":
        text = TEXT.match(script, at + 1)
        return text.end() if text else -1
    else:
        return -1
    while script[at : at + 1] in (" ", "\t") and at >= 0:
        at += 1
    return at if at < 0 or script[at : at + 1] in ("", ";", "\n", "}") else -1


def _past_substitution(script: str, at: int) -> int:
    delimiter = script[at + 1 : at + 2]
    if not delimiter or delimiter in "\\\n;{}[] " or delimiter.isalnum():
        return -1
    position = _past_pattern(script, at + 2, delimiter)
    if position > 0:
        position = _past_pattern(script, position, delimiter, brackets=False)
    if position < 0 or script[at] == "y":
        return position
    flags = FLAGS.match(script, position)
    return flags.end() if flags else position


def _past_pattern(script: str, position: int, delimiter: str, *, brackets: bool = True) -> int:
    """The offset after the delimiter that closes a pattern, or -1 where versions of sed may disagree about it."""
    while position < len(script) and script[position] != delimiter:
        if script[position] == "\n":
            return -1
        if script[position] == "[" and brackets:
            end = _past_bracket(script, position)
            if end < 0 or delimiter in script[position:end]:
                return -1
            position = end
        else:
            position += 2 if script[position] == "\\" else 1
    return position + 1 if position < len(script) else -1


def _past_bracket(script: str, position: int) -> int:
    """The offset after the bracket expression at `position`, or -1 if it is not closed."""
    position += 1
    position += script[position : position + 1] == "^"
    position += script[position : position + 1] == "]"
    while position < len(script) and script[position] != "]":
        kind = script[position + 1 : position + 2]
        if script[position] == "[" and kind and kind in ":.=":
            position = script.find(kind + "]", position + 2) + 1
            if position == 0:
                return -1
        position += 1
    return position + 1 if position < len(script) else -1


def is_read_only_awk(program: str) -> bool:
    """Whether a program only reads its input and prints, without opening files, pipes or commands.

    A redirection follows a `print` in the same statement and is not in parentheses; any other `>` compares.
    """
    if AWK_WORDS.search(program):
        return False
    known = AWK_KNOWN.match(program)
    end = known.end() if known else 0
    certain, rest = AWK_TEXT.sub('""', program[:end]), program[end:]
    printing = [False]
    for found in AWK_SIGNS.finditer(certain):
        match found.group():
            case "print":
                printing[-1] = True
            case "(":
                printing.append(False)
            case ")":
                printing = printing[:-1] or [True]
            case "{" | "}" | ";":
                printing[-1] = False
            case sign:
                if sign != "||" and printing[-1]:
                    return False
    # Behind the possible start of a pattern, comment or unclosed string, any earlier `print` counts.
    first = 0 if "print" in certain else rest.find("print")
    behind = rest[first:].replace("||", "") if first >= 0 else ""
    return ">" not in behind and "|" not in behind


def printf_assigns(text: str) -> bool:
    """Whether a `printf` format stores a number in a variable named by an argument (`%n`)."""
    return STORES.search(text.replace("%%", "")) is not None


def is_read_only_jq(program: str) -> bool:
    return JQ_WORDS.search(program) is None


def unsafe_scripts(name: str, values: list[str]) -> list[str]:
    """The scripts of an awk or sed command that may do more than transform text; "" for one that is not inline."""
    if name == "awk":
        program, _ = awk_program(values)
        return [] if program is not None and is_read_only_awk(program) else [program or ""]
    if name == "sed":
        return [script or "" for script in sed_scripts(values)[0] if script is None or not is_read_only_sed(script)]
    return []


def sed_scripts(values: list[str]) -> tuple[list[str | None], list[str]]:
    """The scripts and the files of a sed command; None among the scripts stands for an unknown option."""
    scripts: list[str | None] = []
    files: list[str] = []
    given = False
    rest = iter(values)
    for value in rest:
        if value in ("-e", "--expression") or (value.startswith("-n") and value == "-ne"):
            given = True
            scripts.append(next(rest, None))
        elif value.startswith("--expression="):
            given = True
            scripts.append(value.partition("=")[2])
        elif value.startswith("-") and value != "-":
            if value not in SED_FLAGS and not _is_cluster(value):
                scripts.append(None)
        else:
            files.append(value)
    if not given:
        scripts += files[:1]
        files = files[1:]
    return scripts, files


def _is_cluster(value: str) -> bool:
    return len(value) > 1 and not value.startswith("--") and set(value[1:]) <= set("nErsuz")


def awk_program(values: list[str]) -> tuple[str | None, list[str]]:
    """The program and the operands; None for a program that is not on the command line."""
    rest = list(values)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        option = rest.pop(0)
        if option == "--":
            break
        if option in ("-F", "-v"):
            rest = rest[1:]
        elif not option.startswith(("-F", "-v", "--field-separator=", "--assign=")):
            return None, rest
    return (rest[0], rest[1:]) if rest else (None, [])
