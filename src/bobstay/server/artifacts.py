"""Artifacts of workflow modes: read from the logs, and passed to the next mode with its first prompt."""

import asyncio
from collections.abc import Iterable

from bobstay.model.message import Block, Text
from bobstay.model.session_events import ArtifactMade
from bobstay.server.errors import ApiError
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.sessions.session_logs import EntryReader

NAMES = {"research": "research note", "plan": "plan", "review": "review of the plan"}


async def read_artifacts(registry: SessionRegistry, session_id: str) -> list[ArtifactMade]:
    """The artifacts of a session, oldest first."""
    view = registry.view(session_id)
    # The whole log is read, so in a thread.
    return await asyncio.to_thread(_find_artifacts, registry.reader(view.id))


def _find_artifacts(reader: EntryReader) -> list[ArtifactMade]:
    return [envelope.event for envelope in reader.read() if isinstance(envelope.event, ArtifactMade)]


async def artifact_blocks(registry: SessionRegistry, wanted: Iterable[tuple[str, str]]) -> tuple[Block, ...]:
    """The artifacts named by session and id, as blocks of a prompt.

    Raises:
        ApiError: one of them does not exist.
    """
    blocks: list[Block] = []
    for session_id, id in wanted:
        found = next((one for one in await read_artifacts(registry, session_id) if one.id == id), None)
        if found is None:
            raise ApiError("not_found", f"Session {session_id[:80]} has no artifact {id[:80]}.")
        text = f"This is the {NAMES[found.kind]} of an earlier session, titled {found.title!r}:\n\n{found.text}"
        blocks.append(Text(text))
    return tuple(blocks)
