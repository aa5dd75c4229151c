"""The transcripts of a session in the official SDK's format: its own, and one for each of its sub-agents."""

import os
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from bobstay.assembly.start_context import StartContext
from bobstay.context.git_status import current_branch, find_repository
from bobstay.model.agent_events import AgentStarted
from bobstay.sessions.claude_projection import ClaudeProjection, TranscriptOrigin
from bobstay.version import PROTOCOL_LEVEL


class SessionTranscripts:
    def __init__(self, start: StartContext) -> None:
        options, entrypoint = start.options, start.environment.entrypoint
        repository = find_repository(start.cwd)
        branch = current_branch(repository) if repository else ""
        self._start = start
        self._origin = TranscriptOrigin(start.session_id, start.cwd, PROTOCOL_LEVEL, entrypoint or "cli", branch)
        self._mirror = options.session_mirror
        self._of_agents: dict[str, ClaudeProjection] = {}
        self._described: list[tuple[str, list[dict[str, Any]]]] = []
        """What the mirror is to be told about agents; transcripts do not hold it."""
        self.main = self._open("")

    def of_agent(self, started: AgentStarted) -> ClaudeProjection:
        """The transcript of a sub-agent, which may have been started before."""
        found = self._of_agents.get(started.id)
        if found is None:
            found = self._of_agents[started.id] = self._open(started.id)
            described = {
                "agentType": started.agent_type,
                "description": started.description,
                "toolUseId": started.parent_call,
                "spawnDepth": started.depth,
            }
            _write_description(found.path, described)
            if self._mirror:
                self._described.append((found.path, [{**described, "type": "agent_metadata"}]))
        return found

    def drain(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """Return the lines written since the last call, by file."""
        described, self._described = self._described, []
        written = [(each.path, each.drain()) for each in (self.main, *self._of_agents.values())]
        return [*described, *((path, lines) for path, lines in written if lines)]

    async def close(self) -> None:
        for each in (self.main, *self._of_agents.values()):
            each.close()

    def _open(self, agent: str) -> ClaudeProjection:
        projection = ClaudeProjection(
            self._start.environment.paths.claude, replace(self._origin, agent=agent), mirror=self._mirror
        )
        projection.resume([envelope for envelope in self._start.history.branch if envelope.agent == agent])
        return projection


def _write_description(transcript: str, described: dict[str, Any]) -> None:
    """Write what the agent is beside its transcript. Without it readers only know less."""
    from bobstay.system.atomic_file import AtomicFile

    with suppress(OSError):
        os.makedirs(os.path.dirname(transcript), 0o700, exist_ok=True)
        with AtomicFile(f"{transcript.removesuffix('.jsonl')}.meta.json") as file:
            file.file.write(msgspec.json.encode(described))
            file.finish(durable=False)
            file.replace()
