"""A command line read by the table of flags."""

import os
from typing import Any

import msgspec

from bobstay.cli.flags import FLAGS, Flag


class UsageError(Exception):
    """The command line makes no sense. Its text is all a person is shown."""


def parse(arguments: list[str]) -> dict[str, Any]:
    """Return what was said, by field; the words that belong to no flag stand under `prompt`.

    Raises:
        UsageError: a flag is unknown, lacks its value, or has one it cannot have.
    """
    by_name = {name: flag for flag in FLAGS for name in flag.names}
    said: dict[str, Any] = {}
    words: list[str] = []
    rest = list(reversed(arguments))
    while rest:
        argument = rest.pop()
        if argument == "--":
            words.extend(reversed(rest))
            break
        if not argument.startswith("-") or argument == "-":
            words.append(argument)
            continue
        name, equals, value = argument.partition("=")
        flag = by_name.get(name)
        if flag is None:
            _spread(argument, by_name, rest)
            continue
        if flag.refuse:
            raise UsageError(f"error: option '{name}' cannot be used: {flag.refuse}")
        _take(flag, name, value if equals else None, rest, said)
    if len(words) > 1:
        raise UsageError("error: more than one prompt was given; put the whole prompt in quotes")
    if words:
        said["prompt"] = words[0]
    return said


def _spread(argument: str, by_name: dict[str, Flag], rest: list[str]) -> None:
    """Put `-pc` back as `-p -c`, and `-rID` as `-r ID`."""
    first = by_name.get(argument[:2])
    if argument.startswith("--") or first is None or len(argument) < 3:
        raise UsageError(f"error: unknown option '{argument}'{_nearest(argument, by_name)}")
    tail = argument[2:]
    rest.append(f"-{tail}" if first.kind == "switch" else tail)
    rest.append(argument[:2])


def _nearest(argument: str, by_name: dict[str, Flag]) -> str:
    bare = argument.partition("=")[0]
    near = [name for name in by_name if name.startswith("--") and (name.startswith(bare) or bare.startswith(name))]
    return f" (did you mean {near[0]}?)" if len(bare) > 3 and near else ""


def _take(flag: Flag, name: str, value: str | None, rest: list[str], said: dict[str, Any]) -> None:
    match flag.kind:
        case "switch":
            if value is not None:
                raise UsageError(f"error: option '{name}' takes no value")
            result = flag.given
        case "optional":
            if value is None and rest and not rest[-1].startswith("-") and " " not in rest[-1]:
                value = rest.pop()
            result = flag.given if value is None else value
        case "value":
            result = _read(flag, name, _required(flag, name, value, rest))
        case "rules":
            values = [_required(flag, name, value, rest)]
            while value is None and rest and _looks_like_rules(rest[-1]):
                values.append(rest.pop())
            result = (*said.get(flag.field, ()), *(rule for text in values for rule in split_rules(text)))
        case "repeat" | "paths":
            values = [_required(flag, name, value, rest)]
            while flag.kind == "paths" and value is None and rest and _looks_like_path(rest[-1]):
                values.append(rest.pop())
            result = (*said.get(flag.field, ()), *values)
    if flag.field:
        said[flag.field] = result


def _required(flag: Flag, name: str, value: str | None, rest: list[str]) -> str:
    """After its `=`, or the next argument whatever that looks like: a system prompt may begin with `-`."""
    if value is not None:
        return value
    if not rest:
        raise UsageError(f"error: option '{name} <{(flag.takes or 'value').lower()}>' argument missing")
    return rest.pop()


def _read(flag: Flag, name: str, text: str) -> Any:
    if flag.choices and text not in flag.choices:
        raise UsageError(
            f"error: option '{name} <{flag.takes.lower()}>' argument '{text}' is invalid. "
            f"Allowed choices are {', '.join(flag.choices)}."
        )
    match flag.read:
        case "":
            return text
        case "commas":
            return tuple(part.strip() for part in text.split(",") if part.strip())
        case "json":
            return _object(name, text)
        case "integer" | "count":
            least = 1 if flag.read == "integer" else 0
            if not text.isascii() or not text.isdigit() or int(text) < least:
                raise UsageError(
                    f"error: option '{name}' argument '{text}' is invalid. It must be a whole number, {least} or more."
                )
            return int(text)
        case "number":
            return _number(name, text)


def _object(name: str, text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"error: option '{name}' is not a JSON object: {error}") from error


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number < float("inf"):
        raise UsageError(f"error: option '{name}' argument '{text}' is invalid. It must be a number above 0.")
    return number


def split_rules(text: str) -> list[str]:
    """Split at commas and blanks that stand in no parentheses."""
    rules: list[str] = []
    depth, word = 0, ""
    for letter in text:
        depth = max(depth + (letter == "(") - (letter == ")"), 0)
        if depth == 0 and (letter == "," or letter.isspace()):
            rules.append(word)
            word = ""
        else:
            word += letter
    return [rule for rule in (*rules, word) if rule]


def _looks_like_rules(text: str) -> bool:
    """Whether an argument after `--allowedTools A` is a rule too and not the prompt: rules are written `Like(so)`."""
    if " " in text.partition("(")[0]:
        return False
    return all(_looks_like_rule(rule) for rule in split_rules(text) or [""])


def _looks_like_rule(rule: str) -> bool:
    name, parenthesis, rest = rule.partition("(")
    if parenthesis and not rest.endswith(")"):
        return False
    return name == "*" or name.startswith("mcp__") or (name[:1].isupper() and name.isalnum())


def _looks_like_path(text: str) -> bool:
    return not text.startswith("-") and (text.lstrip().startswith("{") or os.path.exists(text))
