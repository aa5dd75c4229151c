"""Attaches the files that a prompt mentions, as if the model had read them, under the rules for reading."""

import os
from collections.abc import Iterable
from typing import Any

import msgspec

from bobstay.context.instructions import as_reminder, visible
from bobstay.engine.event_redaction import redact_parts
from bobstay.engine.reminders import MENTION, NESTED_INSTRUCTIONS, remind
from bobstay.engine.tool_environment import shows_everything
from bobstay.engine.toolbox import Refused, Toolbox
from bobstay.library.mention import Mention, find_mentions
from bobstay.model.event import Durable, Noted, Prompted
from bobstay.model.ids import new_id
from bobstay.model.message import Block, Text, ToolCall
from bobstay.permissions.access import Access, Effect
from bobstay.tools.base import Context, Outcome, ToolError
from bobstay.tools.files.tool_path import absolute_path
from bobstay.tools.output_limit import limit_output, make_printable

READING = "Read"
_MOST_MENTIONS = 20
_MOST_CHARACTERS = 400_000
_MOST_NAMES = 1_000


async def attach_mentions(toolbox: Toolbox, blocks: tuple[Block, ...]) -> list[Durable]:
    """Return what precedes a prompt: the files and folders that its texts mention, and notes on those left out."""
    texts = [block.text for block in blocks if isinstance(block, Text)]
    return await attach_files(toolbox, [mention for text in texts for mention in find_mentions(text)])


async def attach_files(toolbox: Toolbox, mentions: Iterable[Mention]) -> list[Durable]:
    """Return the files and folders that are mentioned, each once, and notes on those left out."""
    events: list[Durable] = []
    done: set[tuple[str, int, int]] = set()
    size = count = 0
    for mention in mentions:
        attachment = _Attachment(toolbox, mention)
        meant = (attachment.path, mention.first, mention.last)
        if not attachment.path or meant in done:
            continue
        if count == _MOST_MENTIONS or size > _MOST_CHARACTERS:
            events.append(_left_out(mention, "the prompt mentions too much. The model can read it itself"))
            break
        count += 1
        found = await attachment.events()
        if any(isinstance(event, Prompted) for event in found):
            done.add(meant)
        size += sum(len(b.text) for event in found if isinstance(event, Prompted) for b in _texts(event))
        events += found
    return events


class _Attachment:
    def __init__(self, toolbox: Toolbox, mention: Mention) -> None:
        self._toolbox = toolbox
        self._mention = mention
        self._id = new_id()
        environment = toolbox.tool_environment
        self._context = environment.context(self._id, toolbox.judge.mode, lambda _: None)
        self.path = _find(mention, self._context)
        """The path of what is mentioned; "" if there is nothing of that name."""
        self._is_folder = os.path.isdir(self.path)

    async def events(self) -> list[Durable]:
        try:
            return self._list_folder() if self._is_folder else await self._read_file()
        except (Refused, ToolError, OSError) as error:
            return [_left_out(self._mention, str(error))]
        except Exception as error:  # noqa: BLE001 - boundary: a file that breaks its reader must not end the turn
            return [_left_out(self._mention, f"{type(error).__name__}: {error}")]

    async def _read_file(self) -> list[Durable]:
        toolbox, given = self._toolbox, self._input()
        prepared = toolbox.prepare(ToolCall(self._id, READING, given), lambda _: None)
        self._check_permission(prepared.accesses, given)
        outcome = await prepared.tool.run(prepared.args, prepared.context)
        notes: list[Durable] = [remind(outcome.reminder, NESTED_INSTRUCTIONS)] if outcome.reminder else []
        shown = toolbox.tool_environment.shown
        if outcome.files and all(shown(path) == known for path, known in outcome.files.items()):
            return notes
        return [self._attached(outcome, given, prepared.tool.cap), *notes]

    def _attached(self, outcome: Outcome, given: dict[str, Any], cap: int) -> Prompted:
        content = redact_parts(outcome.content, self._toolbox.redactor)
        parts, spilled = limit_output(content, cap, self._toolbox.tool_environment.spill, self._id)
        text = "\n".join(part.text for part in parts if isinstance(part, Text))
        shown: tuple[Block, ...] = (
            Text(as_reminder(f"Called the {READING} tool with {msgspec.json.encode(_sendable(given)).decode()}")),
            Text(as_reminder(f"Result of calling the {READING} tool:\n{text}")),
            *(part for part in parts if not isinstance(part, Text)),
        )
        files = outcome.files if shows_everything(outcome.display) and not spilled else {}
        return Prompted(self._id, shown, "harness", why=MENTION, files=files)

    def _list_folder(self) -> list[Durable]:
        self._check_permission((Access("read", self.path),), {"file_path": self.path})
        denied_reads = self._context.services.denied_reads
        denies = denied_reads() if denied_reads is not None else None
        with os.scandir(self.path) as entries:
            names = sorted(
                f"{entry.name}/" if entry.is_dir() else entry.name
                for entry in entries
                if denies is None or not denies(entry.path)
            )
        more = f"\n({len(names) - _MOST_NAMES} more)" if len(names) > _MOST_NAMES else ""
        listed = "\n".join(map(visible, names[:_MOST_NAMES])) + more
        blocks = (
            Text(as_reminder(f"Listed the folder {visible(self.path)}")),
            Text(as_reminder(f"What the folder contains:\n{listed or '(nothing)'}")),
        )
        return [Prompted(self._id, blocks, "harness", why=MENTION)]

    def _check_permission(self, accesses: tuple[Access, ...], given: dict[str, Any]) -> None:
        """Raise `Refused` for what may not be read without a question: mentioning it is no answer to that question."""
        decision = self._toolbox.judge.judge(READING, accesses, given, read_only=True)
        if decision.effect is not Effect.ALLOW or self._toolbox.registry.get(READING) is None:
            raise Refused(decision.why or "reading it is not allowed")

    def _input(self) -> dict[str, Any]:
        given: dict[str, Any] = {"file_path": self.path}
        if self._mention.first:
            given |= {"offset": self._mention.first, "limit": self._mention.last - self._mention.first + 1}
        return given


def _find(mention: Mention, context: Context) -> str:
    for candidate in mention.candidates:
        path = absolute_path(candidate, context)
        try:
            if os.path.exists(path):
                return path
        except ValueError:  # characters that no path has
            continue
    return ""


def _texts(event: Prompted) -> list[Text]:
    return [block for block in event.blocks if isinstance(block, Text)]


def _left_out(mention: Mention, why: str) -> Noted:
    return Noted(make_printable(f"@{visible(mention.path)} was not attached: {why.strip().rstrip('.')}."), "notice")


def _sendable(given: dict[str, Any]) -> dict[str, Any]:
    return {**given, "file_path": visible(given["file_path"])}
