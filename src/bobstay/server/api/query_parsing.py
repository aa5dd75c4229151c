"""Parses the query of a request into a struct; errors list the allowed values."""

import re
from typing import Any

import msgspec
from msgspec import Struct

from bobstay.server.api.json_schemas import fields_of
from bobstay.server.errors import ApiError

_FIELD = re.compile(r"at `\$\.(\w+)`")


def read_query(given: dict[str, Any], shape: type[Struct]) -> Any:
    """Raises:
    ApiError: invalid, with the `field` that is wrong and its allowed values.
    """
    try:
        return msgspec.convert(given, shape, strict=False)
    except msgspec.ValidationError as error:
        raise _refusal(str(error), shape) from None


def _refusal(problem: str, shape: type[Struct]) -> ApiError:
    found = _FIELD.search(problem)
    name = found[1] if found else ""
    schema = next((schema for field, schema, _ in fields_of(shape) if field == name), {})
    match schema:
        case {"minimum": least, "maximum": most}:
            text = f"`{name}` must be from {least} to {most}."
            return ApiError("invalid", text, field=name, minimum=least, maximum=most)
        case {"enum": allowed}:
            text = f"`{name}` must be one of {', '.join(str(value) or 'nothing' for value in allowed)}."
            return ApiError("invalid", text, field=name, allowed=allowed)
        case _:
            details = {"field": name} if name else {}
            return ApiError("invalid", f"Invalid query: {problem}", **details)
