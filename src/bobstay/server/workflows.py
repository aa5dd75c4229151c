"""Workflow modes of a session: the prompt, the denied tools and the artifact of each mode."""

import time
from typing import Literal, TypeAlias

from msgspec import Struct

from bobstay.model.session_events import SessionConfig

Workflow: TypeAlias = Literal["chat", "research", "plan", "review_plan", "implement"]
BYPASS = "bypassPermissions"
EDITING = ("Edit", "Write", "NotebookEdit")
"""Rules that deny the tools for changing files; shell redirections are judged by them too."""
READING = frozenset(
    {
        *("Read", "Glob", "Grep", "LS", "NotebookRead", "WebFetch", "WebSearch", "ListMcpResources", "ReadMcpResource"),
        *("AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "StructuredOutput", "ToolSearch"),
        *("TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TaskOutput", "TaskStop"),
        *("BashOutput", "KillShell"),
    }
)
"""Tools that change no file, of the native engine and of `claude`."""
STARTING = ("Bash", "Task", "Agent", "Skill")
"""Further tools of a read-only session: what they start is judged by the same rules."""


class WorkflowMode(Struct, frozen=True):
    name: Workflow
    label: str
    description: str
    details: str
    """What it does and does not do, in a sentence for a person who chooses."""
    prompt: str = ""
    denied: tuple[str, ...] = ()
    permission_modes: tuple[str, ...] = ()
    """Permission modes the session may be in; empty means any. It starts in the first one."""
    reads_only: bool = False
    """Commands that do more than read are asked about each time, whatever was allowed before."""
    leaves: Literal["", "research", "plan", "review"] = ""


CHAT = WorkflowMode("chat", "Chat", "General conversation", "Chat and work without a fixed procedure.")
RESEARCH = WorkflowMode(
    "research",
    "Research",
    "Investigate codebase",
    "Nothing is changed and nothing is judged.",
    """\
You are in research mode. Describe what exists and how it works, as it is today. Do not propose changes, do not judge
quality, do not look for what could be better: a later step does that, and relies on plain facts from this one.

Look for the files with Glob, for the places with Grep, and read what matters with Read before you say anything about
it. Each statement about the code names its place as `path:line`. End with a summary that stands alone: the question,
what was found, how the parts work together, and what could not be found out.""",
    EDITING,
    ("default", "dontAsk"),
    True,
    "research",
)
PLAN = WorkflowMode(
    "plan",
    "Plan",
    "Create implementation plan",
    "Works out what to change, phase by phase. Only the plan is written.",
    """\
You are in planning mode. Read the code before you plan, and ask what you cannot know: clear up open questions with the
user first, and do not leave any in the plan. Then write the plan with these parts, in this order:

# Overview
## Current State
## Desired End State
## What We're NOT Doing
## Phases

Each phase says which files change and how, and ends with two lists of checkboxes: automated verification (commands and
what they must print) and manual verification (what a person looks at). A phase leaves the project working. Present the
plan for approval when it is complete.""",
    EDITING,
    ("plan", "default", "dontAsk"),
    True,
    "plan",
)
REVIEW_PLAN = WorkflowMode(
    "review_plan",
    "Review Plan",
    "Validate existing plan",
    "Holds it against the code before anybody follows it. Nothing is changed.",
    """\
You are reviewing a plan. Go through it phase by phase and hold each statement against the code: do the files exist, do
the functions look as the plan says, would the change work, is something missing, does the verification prove it?

Report in this form: first the line `Status: Ready` or `Status: Needs Revision`; then the issues, each with its phase,
the place in the code as `path:line`, and what is wrong; then improvements worth the effort. Change nothing.""",
    EDITING,
    ("default", "dontAsk"),
    True,
    "review",
)
IMPLEMENT = WorkflowMode(
    "implement",
    "Implement",
    "Execute plan step by step",
    "One phase at a time, each with its verification.",
    """\
You are carrying out a plan. Take one phase at a time, in order. After each phase run its automated verification and
tick in the plan what holds. Stop and report when a test fails that you cannot explain, when the code is not as the plan
says, or when a phase asks for a manual check: say what you expected, what you found, and what you would do. Never skip
a verification, and never go on to the next phase while one is open.""",
)

MODES: dict[str, WorkflowMode] = {mode.name: mode for mode in (CHAT, RESEARCH, PLAN, REVIEW_PLAN, IMPLEMENT)}


def system_text(config: SessionConfig) -> str:
    """The text that is appended to the system prompt of a session."""
    parts = (config.append_system_prompt, MODES[config.workflow].prompt)
    return "\n\n".join(part for part in parts if part)


def denied_tools(config: SessionConfig) -> tuple[str, ...]:
    return (*config.disallowed_tools, *MODES[config.workflow].denied)


def allowed_tools(config: SessionConfig) -> tuple[str, ...]:
    """The tools allowed without approval: in a read-only workflow none that could change a file."""
    if not is_read_only(config):
        return config.allowed_tools
    return tuple(rule for rule in config.allowed_tools if rule.partition("(")[0].strip() in READING)


def is_read_only(config: SessionConfig) -> bool:
    return MODES[config.workflow].reads_only


def permission_mode(config: SessionConfig) -> str:
    """The permission mode a session starts in: the configured one, if its workflow allows it."""
    may = MODES[config.workflow].permission_modes
    asked = config.permission_mode
    if asked == BYPASS and config.bypass_until <= time.time():
        asked = "default"
    if not may or asked in may:
        return asked
    return may[0]


def allows_mode(config: SessionConfig, mode: str) -> bool:
    may = MODES[config.workflow].permission_modes
    return not may or mode in may
