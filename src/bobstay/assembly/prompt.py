"""Gathers what the system prompt says about this place and time."""

import os
import sys
import time

from bobstay.assembly.start import Start
from bobstay.config.environment import Environment
from bobstay.config.options import Options
from bobstay.context.git import Status, branch, find_repository
from bobstay.context.instructions import Instruction, of_project, of_user
from bobstay.context.system import Surroundings as Place
from bobstay.context.system import sections
from bobstay.engine.surroundings import Surroundings


def system_prompt(start: Start, surroundings: Surroundings) -> tuple[str, ...]:
    options, loaded, cwd = start.options, start.loaded, start.cwd
    repository = find_repository(cwd)
    status = Status(cwd, surroundings.environment) if repository and loaded.trusted else None
    top = os.path.dirname(repository) if repository else cwd
    instructions = _instructions(options, start.environment, cwd, top)
    place = Place(
        cwd=cwd,
        directories=tuple(str(folder) for folder in surroundings.directories[1:]),
        platform=sys.platform,
        date=time.strftime("%Y-%m-%d"),
        model=start.routes.route(start.model).name,
        branch=(branch(repository) or "(unknown)") if repository else "",
        git_status=status.read() if status else "",
    )
    appended = _text(options.append_system_prompt, options.append_system_prompt_file) or ""
    extra = loaded.settings.append_system_prompt or ""
    return sections(
        place,
        instructions,
        replaced=_text(options.system_prompt, options.system_prompt_file),
        appended="\n\n".join(part for part in (appended, extra) if part),
    )


def _instructions(options: Options, environment: Environment, cwd: str, top: str) -> list[Instruction]:
    sources = options.setting_sources
    found: list[Instruction] = []
    if sources is None or "user" in sources:
        found += of_user(environment.paths.bobstay, environment.paths.claude)
    if sources is None or "project" in sources:
        known = {instruction.path for instruction in found}
        found += [instruction for instruction in of_project(cwd, top) if instruction.path not in known]
    return found


def _text(said: str | None, file: str | None) -> str | None:
    if file is None:
        return said
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            return opened.read()
    except OSError as error:
        raise ValueError(f"The system prompt file cannot be read: {file}: {error.strerror}") from error
