"""Command lines without the keys somebody wrote into them: whoever may read sees what runs, and not with what."""

import re

from bobstay.config.secret_variables import is_secret
from bobstay.redaction.redactor import placeholder

_VALUE = r"""(?P<value>"[^"\n]*"|'[^'\n]*'|[^\s"';|&)]+)"""
_GIVEN = (
    re.compile(r"(?P<name>[A-Za-z_][\w-]*)(?P<sign>=|[\"'][ \t]*:[ \t]*)" + _VALUE),  # NAME=value, and in JSON
    re.compile(r"(?P<name>--[A-Za-z][\w-]*)(?P<sign>[ \t]+)(?!-)" + _VALUE),
    re.compile(r"(?P<name>[A-Za-z][\w-]*)(?P<sign>:[ \t]+)(?P<value>[^\"'\n]+)"),  # a header
)
_PASSWORDS = (
    re.compile(r"(?P<before>://[^\s/:@\"']*:)(?P<value>[^\s/@\"']+)(?=@)"),
    re.compile(r"(?P<before>(?:\s-u|--user)[ \t=]*[\"']?[^\s:\"']+:)(?P<value>[^\s\"']+)"),
)
_ALSO = frozenset({"AUTHORIZATION", "COOKIE", "PROXY_AUTHORIZATION"})


def concealed(command: str) -> str:
    """`command` with `[masked NAME]` where a value stands whose name says that it is secret.

    What is a variable's name (`$TOKEN`) stays: that is no secret.
    """
    for pattern in _GIVEN:
        command = pattern.sub(_without, command)
    for pattern in _PASSWORDS:
        command = pattern.sub(_without_password, command)
    return command


def _without(found: "re.Match[str]") -> str:
    name = found["name"].lstrip("-").replace("-", "_")
    value = found["value"].strip("\"'")
    if not (is_secret(name) or name.upper() in _ALSO) or not value or _is_named(value):
        return found[0]
    return found["name"] + found["sign"] + placeholder(name)


def _without_password(found: "re.Match[str]") -> str:
    return found[0] if _is_named(found["value"]) else found["before"] + placeholder("password")


def _is_named(value: str) -> bool:
    """Whether it comes from elsewhere when the command is run; or is masked already."""
    return value.rpartition(" ")[2].startswith(("$", "`")) or value.startswith("[masked")
