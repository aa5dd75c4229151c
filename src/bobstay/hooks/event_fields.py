"""Fills fields of a hook event into the texts and inputs that settings give."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

_FIELD = re.compile(r"\$\{([A-Za-z_][\w.]*)\}")
_ARGUMENTS = "$ARGUMENTS"
_DEEPEST = 20


def fill_prompt(prompt: str, payload: bytes) -> str:
    """Put the event's JSON in the position of `$ARGUMENTS`, or after a prompt that does not name it."""
    text = payload.decode(errors="replace")
    return prompt.replace(_ARGUMENTS, text) if _ARGUMENTS in prompt else f"{prompt}\n\n{text}"


def fill_input(value: Any, fields: Mapping[str, Any], depth: int = 0) -> Any:
    """Replace `${tool_input.command}` and the like, at any depth. What the event does not have becomes empty.

    A string that is nothing but one such name becomes the field itself, whatever its type.
    """
    if depth > _DEEPEST:
        return value
    if isinstance(value, dict):
        return {key: fill_input(each, fields, depth + 1) for key, each in value.items()}
    if isinstance(value, list):
        return [fill_input(each, fields, depth + 1) for each in value]
    if not isinstance(value, str):
        return value
    if whole := _FIELD.fullmatch(value):
        return _look_up(whole[1], fields)
    return _FIELD.sub(lambda match: _as_text(_look_up(match[1], fields)), value)


def fill_variables(text: str, variables: Mapping[str, str]) -> str:
    """Replace `${NAME}` for the given names only."""
    return _FIELD.sub(lambda match: variables.get(match[1], match[0]), text) if variables else text


def _look_up(path: str, fields: Mapping[str, Any]) -> Any:
    found: Any = fields
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return ""
        found = found[name]
    return found


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
