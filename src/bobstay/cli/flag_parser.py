"""Parses the command line by the table of flags."""

import os
from typing import Any

import msgspec

from bobstay.cli.flags import FLAGS, Flag


class UsageError(Exception):
    """The command line is invalid. The text is shown to the user as it is."""


def parse_arguments(arguments: list[str]) -> dict[str, Any]:
    """Return the options by field; the positional argument is stored as `prompt`.

    Raises:
        UsageError: a flag is unknown, lacks its value, or has one it cannot have.
    """
    by_name = {name: flag for flag in FLAGS for name in flag.names}
    options: dict[str, Any] = {}
    positional: list[str] = []
    rest = list(reversed(arguments))
    while rest:
        argument = rest.pop()
        if argument == "--":
            positional.extend(reversed(rest))
            break
        if not argument.startswith("-") or argument == "-":
            positional.append(argument)
            continue
        name, equals, value = argument.partition("=")
        flag = by_name.get(name)
        if flag is None:
            _split_short_flags(argument, by_name, rest)
            continue
        if flag.refuse:
            raise UsageError(f"error: option '{name}' cannot be used: {flag.refuse}")
        _store_value(flag, name, value if equals else None, rest, options)
    if len(positional) > 1:
        raise UsageError("error: more than one prompt was given; put the whole prompt in quotes")
    if positional:
        options["prompt"] = positional[0]
    return options


def _split_short_flags(argument: str, by_name: dict[str, Flag], rest: list[str]) -> None:
    """Split `-pc` into `-p -c`, and `-rID` into `-r ID`."""
    first = by_name.get(argument[:2])
    if argument.startswith("--") or first is None or len(argument) < 3:
        raise UsageError(f"error: unknown option '{argument}'{_suggest(argument, by_name)}")
    tail = argument[2:]
    rest.append(f"-{tail}" if first.kind == "switch" else tail)
    rest.append(argument[:2])


def _suggest(argument: str, by_name: dict[str, Flag]) -> str:
    bare = argument.partition("=")[0]
    near = [name for name in by_name if name.startswith("--") and (name.startswith(bare) or bare.startswith(name))]
    return f" (did you mean {near[0]}?)" if len(bare) > 3 and near else ""


def _store_value(flag: Flag, name: str, value: str | None, rest: list[str], options: dict[str, Any]) -> None:
    match flag.kind:
        case "switch":
            if value is not None:
                raise UsageError(f"error: option '{name}' takes no value")
            result = flag.const
        case "optional":
            if value is None and rest and not rest[-1].startswith("-") and " " not in rest[-1]:
                value = rest.pop()
            result = flag.const if value is None else value
        case "value":
            result = _convert(flag, name, _require_value(flag, name, value, rest))
        case "rules":
            texts = [_require_value(flag, name, value, rest)]
            while value is None and rest and _looks_like_rules(rest[-1]):
                texts.append(rest.pop())
            result = (*options.get(flag.field, ()), *(rule for text in texts for rule in split_rules(text)))
        case "repeat" | "paths":
            texts = [_require_value(flag, name, value, rest)]
            while flag.kind == "paths" and value is None and rest and _looks_like_path(rest[-1]):
                texts.append(rest.pop())
            result = (*options.get(flag.field, ()), *texts)
    if flag.field:
        options[flag.field] = result


def _require_value(flag: Flag, name: str, value: str | None, rest: list[str]) -> str:
    """The value after `=`, or the next argument even if it begins with `-`, as a system prompt may."""
    if value is not None:
        return value
    if not rest:
        raise UsageError(f"error: option '{name} <{(flag.metavar or 'value').lower()}>' argument missing")
    return rest.pop()


def _convert(flag: Flag, name: str, text: str) -> Any:
    if flag.choices and text not in flag.choices:
        raise UsageError(
            f"error: option '{name} <{flag.metavar.lower()}>' argument '{text}' is invalid. "
            f"Allowed choices are {', '.join(flag.choices)}."
        )
    match flag.convert:
        case "":
            return text
        case "commas":
            return tuple(part.strip() for part in text.split(",") if part.strip())
        case "json":
            return _parse_object(name, text)
        case "integer" | "count":
            least = 1 if flag.convert == "integer" else 0
            if not text.isascii() or not text.isdigit() or int(text) < least:
                raise UsageError(
                    f"error: option '{name}' argument '{text}' is invalid. It must be a whole number, {least} or more."
                )
            return int(text)
        case "number":
            return _parse_number(name, text)


def _parse_object(name: str, text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"error: option '{name}' is not a JSON object: {error}") from error


def _parse_number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number < float("inf"):
        raise UsageError(f"error: option '{name}' argument '{text}' is invalid. It must be a number above 0.")
    return number


def split_rules(text: str) -> list[str]:
    """Split at commas and whitespace outside parentheses."""
    rules: list[str] = []
    depth, rule = 0, ""
    for letter in text:
        depth = max(depth + (letter == "(") - (letter == ")"), 0)
        if depth == 0 and (letter == "," or letter.isspace()):
            rules.append(rule)
            rule = ""
        else:
            rule += letter
    return [text for text in (*rules, rule) if text]


def _looks_like_rules(text: str) -> bool:
    """Whether an argument after `--allowedTools A` is another rule, written `Like(so)`, and not the prompt."""
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
