"""Instruction files of a session: which of them count here, and what the model is told before the first prompt."""

import os

import msgspec

from bobstay.assembly.start_context import StartContext
from bobstay.config.paths import Paths
from bobstay.context.git_status import find_repository
from bobstay.context.instructions import InstructionFiles, InstructionScope, visible
from bobstay.engine.reminders import INSTRUCTIONS, NESTED_INSTRUCTIONS, remind
from bobstay.model.event import Prompted
from bobstay.model.message import text_of
from bobstay.permissions.policy import Policy
from bobstay.system.safe_read import read_regular

_LARGEST = 32 << 20


def build_instruction_files(start: StartContext, policy: Policy) -> InstructionFiles:
    """Build the session's finder of instruction files; nothing is read yet."""
    options, loaded, paths = start.options, start.loaded, start.environment.paths
    repository = find_repository(start.cwd)
    sources = ("user", "project", "local") if options.setting_sources is None else options.setting_sources

    def denies(path: str) -> bool:
        denied = policy.read_filter
        return denied is not None and denied(path)

    files = InstructionFiles(
        InstructionScope(
            cwd=start.cwd,
            top=os.path.dirname(repository) if repository else start.cwd,
            home=paths.home,
            own=(paths.bobstay, paths.claude),
            sources=frozenset(sources),
            added=policy.directories if start.environment.added_instructions else (),
            trusted=loaded.trusted,
            excludes=loaded.settings.claude_md_excludes,
            denies=denies,
            approved=lambda: _are_external_imports_approved(paths, start.cwd),
        )
    )
    for text in earlier_reminders(start, NESTED_INSTRUCTIONS):
        files.remember(text)
    return files


def find_reminder(start: StartContext, files: InstructionFiles) -> list[Prompted]:
    """Return what the first prompt begins with: the instruction files, unless the history has them as they are now."""
    text = start.redactor.redact(files.reminder())
    _warn(start, files)
    before = earlier_reminders(start, INSTRUCTIONS)
    if not text or not before:
        return [remind(text, INSTRUCTIONS)] if text else []
    again = start.redactor.redact(files.reminder(again=True))
    return [] if before[-1] in (text, again) else [remind(again, INSTRUCTIONS)]


def earlier_reminders(start: StartContext, why: str) -> list[str]:
    """Return what the model was told for one reason before this start."""
    events = (envelope.event for envelope in start.history.branch if not envelope.agent)
    return [text_of(event.blocks) for event in events if isinstance(event, Prompted) and event.why == why]


def _are_external_imports_approved(paths: Paths, cwd: str) -> bool:
    """Whether a person allowed the project's files to import from outside of it, in Claude Code."""
    raw = read_regular(paths.global_file, _LARGEST)
    try:
        found = msgspec.json.decode(raw or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    for name in ("projects", cwd):
        found = found.get(name) if isinstance(found, dict) else None
    return isinstance(found, dict) and found.get("hasClaudeMdExternalIncludesApproved") is True


def _warn(start: StartContext, files: InstructionFiles) -> None:
    if files.outside:
        named = ", ".join(map(visible, files.outside))
        start.warnings.append(
            f"The project's instructions import files from outside its folder, which were not read: "
            f"{named}. Import them in {start.environment.paths.bobstay}/AGENTS.md if you want them."
        )
    if files.left_out:
        start.warnings.append(
            f"There are too many instruction files: {files.left_out} of them were not read. The setting "
            "claudeMdExcludes leaves out those that are not needed."
        )
