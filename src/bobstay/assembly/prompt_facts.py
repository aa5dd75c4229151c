"""Gathers what the system prompt says about this place and time."""

import os
import sys
import time

from bobstay.assembly.start_context import StartContext
from bobstay.context.git_status import Status, branch, find_repository
from bobstay.context.instructions import Instruction, of_project, of_user
from bobstay.context.system_prompt import PromptFacts, sections
from bobstay.engine.tool_environment import ToolEnvironment


def system_prompt(start: StartContext, tools: ToolEnvironment) -> tuple[str, ...]:
    options, loaded, cwd = start.options, start.loaded, start.cwd
    repository = find_repository(cwd)
    status = Status(cwd, tools.environment) if repository and loaded.trusted else None
    top = os.path.dirname(repository) if repository else cwd
    own, project = _instructions(start, cwd, top)
    facts = PromptFacts(
        cwd=cwd,
        directories=tuple(str(folder) for folder in tools.directories[1:]),
        platform=sys.platform,
        date=time.strftime("%Y-%m-%d"),
        model=start.routes.route(start.model).name,
        branch=(branch(repository) or "(unknown)") if repository else "",
        git_status=status.read() if status else "",
    )
    appended = _text(options.append_system_prompt, options.append_system_prompt_file) or ""
    extra = loaded.settings.append_system_prompt or ""
    return sections(
        facts,
        [*own, *project] if loaded.trusted else own,
        unproven=[] if loaded.trusted else project,
        replaced=_text(options.system_prompt, options.system_prompt_file),
        appended="\n\n".join(part for part in (appended, extra) if part),
    )


def _instructions(start: StartContext, cwd: str, top: str) -> tuple[list[Instruction], list[Instruction]]:
    """The user's files and the project's. Until the folder is trusted, its files are read, not what they name."""
    sources, paths = start.options.setting_sources, start.environment.paths
    own: list[Instruction] = []
    if sources is None or "user" in sources:
        own += of_user(paths.bobstay, paths.claude, home=paths.home)
    project: list[Instruction] = []
    if sources is None or "project" in sources:
        known = {instruction.path for instruction in own}
        outside: list[str] = []
        found = of_project(cwd, top, imports=start.loaded.trusted, home=paths.home, outside=outside)
        if outside:
            start.warnings.append(
                f"The project's instructions import files from outside of its folder, which were not read: "
                f"{', '.join(dict.fromkeys(outside))}. Import them in {paths.bobstay}/AGENTS.md if you want them."
            )
        project = [instruction for instruction in found if instruction.path not in known]
    return own, project


def _text(said: str | None, file: str | None) -> str | None:
    if file is None:
        return said
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            return opened.read()
    except OSError as error:
        raise ValueError(f"The system prompt file cannot be read: {file}: {error.strerror}") from error
