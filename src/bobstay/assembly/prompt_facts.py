"""Builds what the model is told at the start, from environment facts, instruction files and options."""

import sys
import time
from typing import TYPE_CHECKING

from msgspec import Struct

from bobstay.assembly.session_instructions import earlier_reminders, find_reminder
from bobstay.assembly.session_library import SessionLibrary, list_for_first_prompt, read_prompt
from bobstay.assembly.start_context import StartContext
from bobstay.assembly.tool_services import coordinates
from bobstay.context.git_status import GitStatus, current_branch, find_repository
from bobstay.context.instructions import InstructionFiles, as_reminder
from bobstay.context.system_prompt import PromptFacts, build_sections
from bobstay.engine.reminders import LISTING, OUTPUT_STYLE, remind
from bobstay.engine.tool_environment import ToolEnvironment
from bobstay.library.definition import AgentDefinition
from bobstay.model.event import Prompted
from bobstay.tools.tool_registry import ToolRegistry

if TYPE_CHECKING:
    from bobstay.assembly.agent_memory import AgentMemory
    from bobstay.assembly.session_styles import SessionStyles


class SessionPrompt(Struct, frozen=True):
    """What the model is told before it gets to work."""

    system: tuple[str, ...]
    opening: list[Prompted]
    """What the first prompt begins with."""
    styles: "SessionStyles | None"
    """None if no output style applies or did so before."""


def build_prompt(
    start: StartContext,
    tools: ToolEnvironment,
    files: InstructionFiles,
    library: SessionLibrary,
    registry: ToolRegistry,
    lead: AgentDefinition | None,
    memory: "AgentMemory | None" = None,
) -> SessionPrompt:
    """Build the prompt; `lead` is the definition of the session's own agent, if one is chosen, `memory` its memory."""
    options, loaded, cwd = start.options, start.loaded, start.cwd
    repository = find_repository(cwd)
    status = GitStatus(cwd, tools.environment) if repository and loaded.trusted else None
    styles = _find_styles(start, library)
    # These files are read while git runs.
    opening = [
        *find_reminder(start, files),
        *list_library(start, library, registry),
        *(styles.begin() if styles is not None else ()),
    ]
    facts = PromptFacts(
        cwd=cwd,
        directories=tuple(str(folder) for folder in tools.directories[1:]),
        platform=sys.platform,
        date=time.strftime("%Y-%m-%d"),
        model=start.routes.route(start.model).name,
        branch=(current_branch(repository) or "(unknown)") if repository else "",
        git_status=status.read() if status else "",
    )
    appended = _read_text(options.append_system_prompt, options.append_system_prompt_file) or ""
    extra = loaded.settings.append_system_prompt or ""
    known = memory.text if memory is not None else ""
    replaced = _read_text(options.system_prompt, options.system_prompt_file)
    if replaced is None and lead is not None:
        replaced = read_prompt(lead)
    sections = build_sections(
        facts,
        replaced=replaced,
        appended="\n\n".join(part for part in (known, appended, extra) if part),
        with_coding=styles is None or styles.with_coding,
        coordinates=coordinates(start),
    )
    return SessionPrompt(sections, opening, styles)


def list_library(
    start: StartContext, library: SessionLibrary, registry: ToolRegistry, only: list[str] | None = None
) -> list[Prompted]:
    """Return the list of agents and skills, unless the history has it as it is now. `only` limits the skills."""
    needs = {entry.needs for entry in registry.entries}
    listed = list_for_first_prompt(library.current, skills="skills" in needs, agents="agents" in needs, only=only)
    if not listed:
        return []
    text = start.redactor.redact(as_reminder(listed))
    before = earlier_reminders(start, LISTING)
    return [] if before and before[-1] == text else [remind(text, LISTING)]


def list_skills(start: StartContext, library: SessionLibrary, registry: ToolRegistry) -> list[Prompted]:
    """Return the list of skills for a sub-agent that has the tool to call them."""
    can_call = any(entry.needs == "skills" for entry in registry.entries)
    listed = list_for_first_prompt(library.current, skills=True, agents=False) if can_call else ""
    return [remind(start.redactor.redact(as_reminder(listed)), LISTING)] if listed else []


def _find_styles(start: StartContext, library: SessionLibrary) -> "SessionStyles | None":
    if not start.loaded.settings.output_style and not earlier_reminders(start, OUTPUT_STYLE):
        return None
    from bobstay.assembly.session_styles import SessionStyles

    return SessionStyles(start, library)


def _read_text(text: str | None, file: str | None) -> str | None:
    if file is None:
        return text
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            return opened.read()
    except OSError as error:
        raise ValueError(f"The system prompt file cannot be read: {file}: {error.strerror}") from error
