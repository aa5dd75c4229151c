"""A built-in tool lives in one file: no other source file refers to a tool by name."""

import re
from pathlib import Path

import bobstay
from bobstay.tools.tool_registry import builtin_entries

SOURCE = Path(bobstay.__file__).parent

KNOWN_ELSEWHERE = {
    "assembly/": "a session asks its rules about web addresses under the names people write in those rules",
    "cli/check_command.py": "`bobstay permissions check` judges commands and files by the tools that touch them",
    "cli/permissions_command.py": "so does the command around it",
    "hooks/matcher.py": "people's matchers may name a tool by an earlier name of it",
    "library/bundled_definitions.py": "the agents that come with bobstay have some tools, as those of people do",
    "permissions/": "rules that people write name tools, and the rule language gives some names a meaning of their own",
    "providers/demo": "the demo model calls tools by their names, as any model does",
    "server/compat/": "names that pages of other consoles switch on",
    "server/db/touched_files.py": "what a session changed is told by its stored calls, of external engines too",
    "server/workers/": "external engines call their tools so",
    "server/workflows.py": "a workflow that only looks takes the ways of changing files away, by rules",
    "sessions/conformance.py": "sample data",
}
"""Where tools' names must be known, and why."""


def test_no_file_outside_the_package_of_tools_names_a_tool() -> None:
    """H1-3"""
    names = {phrase for entry in builtin_entries() for phrase in (entry.name, *entry.aliases)}
    allowed = ("tools/builtin/", *KNOWN_ELSEWHERE)
    offenders = [
        f"{path.relative_to(SOURCE)} names {name}"
        for path in sorted(SOURCE.rglob("*.py"))
        if not str(path.relative_to(SOURCE)).startswith(allowed)
        for name in sorted(set(re.findall(r"""["'](\w+)["']""", path.read_text())) & names)
    ]
    assert not offenders, "\n".join(offenders)


def test_every_built_in_tool_has_a_file_of_its_own() -> None:
    """H1-1"""
    modules = [entry.module for entry in builtin_entries()]
    assert len(set(modules)) == len(modules)
    assert all(module.startswith("bobstay.tools.builtin.") for module in modules)
