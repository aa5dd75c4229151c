"""Writes the list of built-in tools from their classes, or with --check says whether it is up to date.

Usage: make_schemas.py [--check] [FILE]
"""

import sys
from pathlib import Path

import msgspec

from bobstay.tools import builtin
from bobstay.tools.tool_registry import describe_tool
from bobstay.tools.tool_scan import discover

TARGET = Path(builtin.__file__).with_name("schemas.json")


def main(arguments: list[str]) -> int:
    target = Path(next((word for word in arguments if not word.startswith("-")), TARGET))
    text = generated()
    if "--check" not in arguments:
        target.write_bytes(text)
        print(f"wrote {target}")
        return 0
    if target.exists() and target.read_bytes() == text:
        return 0
    print(f"{target} is out of step with the tools: run python scripts/make_schemas.py", file=sys.stderr)
    return 1


def generated() -> bytes:
    entries = sorted((describe_tool(tool) for tool in discover(builtin)), key=lambda entry: entry.name)
    words = [word for entry in entries for word in (entry.name, *entry.aliases)]
    twice = {word for word in words if words.count(word) > 1}
    if twice:
        raise SystemExit(f"two tools share a name or alias: {', '.join(sorted(twice))}")
    return msgspec.json.format(msgspec.json.encode(entries), indent=1) + b"\n"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
