"""Builds the system prompt from environment facts, instruction files and options."""

import os
import sys
import time

from bobstay.assembly.start_context import StartContext
from bobstay.context.git_status import GitStatus, current_branch, find_repository
from bobstay.context.instructions import Instruction, project_instructions, user_instructions
from bobstay.context.system_prompt import PromptFacts, build_sections
from bobstay.engine.tool_environment import ToolEnvironment


def build_system_prompt(start: StartContext, tools: ToolEnvironment) -> tuple[str, ...]:
    options, loaded, cwd = start.options, start.loaded, start.cwd
    repository = find_repository(cwd)
    status = GitStatus(cwd, tools.environment) if repository and loaded.trusted else None
    top = os.path.dirname(repository) if repository else cwd
    own, project = _read_instructions(start, cwd, top)
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
    return build_sections(
        facts,
        [*own, *project] if loaded.trusted else own,
        untrusted=[] if loaded.trusted else project,
        replaced=_read_text(options.system_prompt, options.system_prompt_file),
        appended="\n\n".join(part for part in (appended, extra) if part),
    )


def _read_instructions(start: StartContext, cwd: str, top: str) -> tuple[list[Instruction], list[Instruction]]:
    """Read the user's and the project's instructions. In an untrusted folder, imports in its files are not followed."""
    sources, paths = start.options.setting_sources, start.environment.paths
    own: list[Instruction] = []
    if sources is None or "user" in sources:
        own += user_instructions(paths.bobstay, paths.claude, home=paths.home)
    project: list[Instruction] = []
    if sources is None or "project" in sources:
        known = {instruction.path for instruction in own}
        outside: list[str] = []
        found = project_instructions(cwd, top, imports=start.loaded.trusted, home=paths.home, outside=outside)
        if outside:
            start.warnings.append(
                f"The project's instructions import files from outside its folder, which were not read: "
                f"{', '.join(dict.fromkeys(outside))}. Import them in {paths.bobstay}/AGENTS.md if you want them."
            )
        project = [instruction for instruction in found if instruction.path not in known]
    return own, project


def _read_text(text: str | None, file: str | None) -> str | None:
    if file is None:
        return text
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            return opened.read()
    except OSError as error:
        raise ValueError(f"The system prompt file cannot be read: {file}: {error.strerror}") from error
