"""Sessions through the SDK: resume at a message, import of a transcript, mirror (H6-3)."""

import json
import uuid
from pathlib import Path
from typing import Any

from claude_agent_sdk import AssistantMessage

from tests.modelserver.script import Say, Step
from tests.sdk.conftest import SdkHost
from tests.sdk.reading import result


async def test_a_session_is_resumed_at_a_message_the_host_saw(sdk: SdkHost) -> None:
    first = await sdk.query(sdk.play(Step(blocks=[Say("First answer.")]), name="a"))
    seen = [message for message in first if isinstance(message, AssistantMessage)][-1]
    session = result(first).session_id
    await sdk.query(sdk.play(Step(blocks=[Say("Second answer.")]), name="b"), resume=session)
    await sdk.query(
        sdk.play(Step(blocks=[Say("Other.")]), name="c"),
        resume=session,
        extra_args={"resume-session-at": seen.uuid},
    )
    sent = json.dumps(sdk.bodies[-1]["messages"])
    assert "First answer." in sent
    assert "Second answer." not in sent


async def test_a_claude_code_transcript_is_taken_up(sdk: SdkHost) -> None:
    session = str(uuid.uuid4())
    folder = Path(sdk.options().env["HOME"]) / ".claude" / "projects" / "anywhere"
    folder.mkdir(parents=True)
    entries: list[dict[str, Any]] = [
        {
            "type": "user",
            "uuid": str(uuid.uuid4()),
            "parentUuid": None,
            "message": {"role": "user", "content": "Old question."},
        },
    ]
    entries.append(
        {
            "type": "assistant",
            "uuid": str(uuid.uuid4()),
            "parentUuid": entries[0]["uuid"],
            "message": {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "Old answer."}]},
        }
    )
    common = {
        "sessionId": session,
        "isSidechain": False,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "cwd": str(sdk.work),
    }
    (folder / f"{session}.jsonl").write_text("".join(json.dumps({**entry, **common}) + "\n" for entry in entries))
    done = result(await sdk.query(sdk.play(Step(blocks=[Say("New answer.")])), resume=session))
    assert done.session_id == session
    sent = json.dumps(sdk.bodies[-1]["messages"])
    assert "Old question." in sent
    assert "Old answer." in sent
