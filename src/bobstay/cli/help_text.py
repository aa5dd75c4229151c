"""Builds the help text from the table of flags."""

from collections.abc import Mapping

from bobstay.cli.flags import FLAGS, Flag

_HEAD = """\
Usage: bobstay [options] [prompt]
       bobstay <command>

An open coding agent. Give it a task in a directory; it reads, edits and runs what the task needs,
and asks before it does what you have not allowed.

"""


def build_usage(commands: Mapping[str, str]) -> str:
    groups: dict[str, list[Flag]] = {}
    for flag in FLAGS:
        if flag.help:
            groups.setdefault(flag.group, []).append(flag)
    parts = [_HEAD, "Commands:\n", *(f"  {name:<34}{text}\n" for name, text in commands.items())]
    for group, flags in groups.items():
        parts.append(f"\n{group}:\n")
        parts.extend(_row(flag) for flag in flags)
    return "".join(parts)


def _row(flag: Flag) -> str:
    value = ""
    if flag.metavar:
        value = f" [{flag.metavar}]" if flag.kind == "optional" else f" {flag.metavar}"
    left = ", ".join(flag.names) + value
    gap = "\n" + " " * 36 if len(left) > 33 else " " * (34 - len(left))
    return f"  {left}{gap}{flag.help}\n"
