"""Names of MCP servers and their tools, as the model and permission rules see them."""

import re

PREFIX = "mcp__"
MAX_NAME_LENGTH = 128
"""Characters of a tool's name that model APIs accept."""
_MAX_SERVER_LENGTH = 64
_OTHER = re.compile(r"[^A-Za-z0-9_-]")


class BadServerName(ValueError):  # noqa: N818 - it says what the name is
    """A server cannot be addressed by its name. The text says why and what to do."""


def normalise(name: str) -> str:
    """Replace every character that tool names cannot hold by `_`."""
    return _OTHER.sub("_", name)


def normalise_server(name: str) -> str:
    """Return the name of a server inside tool names.

    Rules take the text between `mcp__` and the next `__` for the server, so a name that blurs that border is refused:
    the tools of `a__b` would fall under the rules for `a`.

    Raises:
        BadServerName: there is no such name for it.
    """
    called = normalise(name)
    if not called.strip("_-"):
        raise BadServerName("its name needs at least one letter or digit")
    if len(called) > _MAX_SERVER_LENGTH:
        raise BadServerName(f"its name is longer than {_MAX_SERVER_LENGTH} characters; give it a shorter one")
    if "__" in called or called.endswith("_"):
        raise BadServerName(
            f"its name becomes {called!r} in the names of its tools, which must not hold '__' or end with '_', "
            "because permission rules could not tell its tools from those of another server; give it another name"
        )
    return called


def tool_name(server: str, tool: str) -> str:
    """Return the name of a tool for the model; `server` is a normalised name. One that is too long is shortened."""
    name = f"{PREFIX}{server}__{normalise(tool)}"
    if len(name) <= MAX_NAME_LENGTH:
        return name
    from hashlib import sha256

    return f"{name[: MAX_NAME_LENGTH - 9]}_{sha256(tool.encode('utf-8', 'replace')).hexdigest()[:8]}"
