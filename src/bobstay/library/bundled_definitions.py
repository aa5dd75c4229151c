"""Commands, agents and output styles that bobstay brings. Their texts are files in `bundled`, read when they are used.

They are written down here, so that a session without others reads no file for them.
"""

import os

from bobstay.library.definition import AgentDefinition, CommandDefinition, DefinitionOrigin, OutputStyle

_FOLDER = os.path.join(os.path.dirname(__file__), "bundled")
_LOOKING = ("Glob", "Grep", "Read", "Bash", "BashOutput", "WebFetch", "WebSearch", "Lsp")


def _origin(file: str) -> DefinitionOrigin:
    return DefinitionOrigin("bundled", f"{_FOLDER}/{file}.md")


BUNDLED_COMMANDS = (
    CommandDefinition(
        name="commit",
        kind="command",
        origin=_origin("commands/commit"),
        description="Commit what was changed, with a message in the style of the repository",
        described=True,
        argument_hint="what the commit is about",
        model_invocable=False,
    ),
    CommandDefinition(
        name="init",
        kind="command",
        origin=_origin("commands/init"),
        description="Write an AGENTS.md that tells coding agents what they need to know about this code base",
        described=True,
        model_invocable=False,
    ),
    CommandDefinition(
        name="review",
        kind="command",
        origin=_origin("commands/review"),
        description="Review the changes of this branch, or of what you name",
        described=True,
        argument_hint="branch, commit or pull request",
        model_invocable=False,
        fork=True,
    ),
    CommandDefinition(
        name="security-review",
        kind="command",
        origin=_origin("commands/security-review"),
        description="Look for vulnerabilities in the changes of this branch",
        described=True,
        model_invocable=False,
    ),
)
BUNDLED_AGENTS = (
    AgentDefinition(
        name="Explore",
        origin=_origin("agents/explore"),
        description="Searches and reads a code base quickly, without changing anything. Use it to find files by "
        'pattern, code by keyword, or the answer to a question such as "how are requests authenticated?" Say how '
        "thorough it should be - quick, medium or very thorough.",
        tools=_LOOKING,
    ),
    AgentDefinition(
        name="Plan",
        origin=_origin("agents/plan"),
        description="Designs how to implement something, without changing anything. Use it to get a step by step plan "
        "that names the files to change, and weighs the alternatives, before a larger change.",
        tools=_LOOKING,
    ),
    AgentDefinition(
        name="general-purpose",
        origin=_origin("agents/general-purpose"),
        description="Works on a task of several steps by itself, such as a search whose first guess may be wrong, "
        "research over many files, or a change that you describe completely. Use it to keep the details out of this "
        "conversation.",
    ),
)
"""Sorted by name, as all lists of definitions are."""
DEFAULT_STYLE = OutputStyle(
    name="default",
    origin=DefinitionOrigin("bundled"),
    description="Does the work and answers briefly",
    keep_coding_instructions=True,
)
BUNDLED_STYLES = (
    DEFAULT_STYLE,
    OutputStyle(
        name="Explanatory",
        origin=_origin("output-styles/explanatory"),
        description="Explains its decisions while it works",
        keep_coding_instructions=True,
    ),
    OutputStyle(
        name="Learning",
        origin=_origin("output-styles/learning"),
        description="Leaves pieces of code to you, and talks them over",
        keep_coding_instructions=True,
    ),
)
