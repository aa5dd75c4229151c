"""Redacts secrets in the command lines of hooks before they are shown."""

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


def redact_command(command: str) -> str:
    """`command` with a placeholder for each value whose name says that it is secret.

    References to variables (`$TOKEN`) stay, because they are not secret.
    """
    for pattern in _GIVEN:
        command = pattern.sub(_redact_value, command)
    for pattern in _PASSWORDS:
        command = pattern.sub(_redact_password, command)
    return command


def _redact_value(found: "re.Match[str]") -> str:
    name = found["name"].lstrip("-").replace("-", "_")
    value = found["value"].strip("\"'")
    if not (is_secret(name) or name.upper() in _ALSO) or not value or _is_reference(value):
        return found[0]
    return found["name"] + found["sign"] + placeholder(name)


def _redact_password(found: "re.Match[str]") -> str:
    return found[0] if _is_reference(found["value"]) else found["before"] + placeholder("password")


def _is_reference(value: str) -> bool:
    """Whether the value is a variable, the output of a command, or already redacted."""
    return value.rpartition(" ")[2].startswith(("$", "`")) or value.startswith("[masked")
