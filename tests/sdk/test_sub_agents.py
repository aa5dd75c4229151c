"""Sub-agents through the SDK: their transcripts, what hooks are told of them, and how many there were (H7-1)."""

import json
from pathlib import Path
from typing import Any

import claude_agent_sdk
import pytest
from claude_agent_sdk import HookMatcher

from tests.modelserver.script import Call, Say, Step
from tests.sdk.conftest import SdkHost
from tests.sdk.reading import result


async def test_a_sub_agent_has_a_transcript_that_hosts_can_read(sdk: SdkHost, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[dict[str, Any]] = []
    seen: list[str] = []

    async def on_stop(given: Any, _: Any, __: Any) -> Any:
        stopped.append(given)
        seen.append(Path(given["agent_transcript_path"]).read_text())
        return {}

    task = sdk.play(Step(blocks=[Say("CHILD-REPORT")]), name="kid")
    given = {"description": "look", "prompt": task, "subagent_type": "general-purpose", "run_in_background": False}
    messages = await sdk.query(
        sdk.play(Step(blocks=[Call("Agent", given, "toolu_a1")]), Step(blocks=[Say("Done.")]), name="main"),
        hooks={"SubagentStop": [HookMatcher(hooks=[on_stop])]},
    )
    done = result(messages)
    (stop,) = stopped
    path = Path(stop["agent_transcript_path"])
    folder = Path(stop["transcript_path"]).with_suffix("") / "subagents"
    assert path == folder / f"agent-{stop['agent_id']}.jsonl"
    assert "CHILD-REPORT" in seen[0], "the transcript is written when the hook is called"
    meta = json.loads(path.with_suffix(".meta.json").read_text())
    assert meta == {
        "agentType": "general-purpose",
        "description": "look",
        "toolUseId": "toolu_a1",
        "spawnDepth": 1,
    }
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert all(line["isSidechain"] and line["agentId"] == stop["agent_id"] for line in lines if "message" in line)
    main = Path(stop["transcript_path"]).read_text()
    assert '"isSidechain":true' not in main.replace(" ", "")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(sdk.home / ".claude"))
    work = str(sdk.work)
    listed = [each.session_id for each in claude_agent_sdk.list_sessions(directory=work)]
    assert listed == [done.session_id], "a sub-agent is no session of its own"
    assert claude_agent_sdk.list_subagents(done.session_id, directory=work) == [stop["agent_id"]]
    said = claude_agent_sdk.get_subagent_messages(done.session_id, stop["agent_id"], directory=work)
    assert "CHILD-REPORT" in str(said[-1].message)


async def test_a_session_store_gets_the_transcripts_of_sub_agents(
    sdk: SdkHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(sdk.home / ".claude"))
    task = sdk.play(Step(blocks=[Say("CHILD-REPORT")]), name="kid")
    given = {"description": "look", "prompt": task, "subagent_type": "general-purpose", "run_in_background": False}
    store = claude_agent_sdk.InMemorySessionStore()
    messages = await sdk.query(
        sdk.play(Step(blocks=[Call("Agent", given, "toolu_a1")]), Step(blocks=[Say("Done.")]), name="main"),
        session_store=store,
    )
    id_ = result(messages).session_id
    (agent,) = await claude_agent_sdk.list_subagents_from_store(store, id_, directory=str(sdk.work))
    said = await claude_agent_sdk.get_subagent_messages_from_store(store, id_, agent, directory=str(sdk.work))
    assert "CHILD-REPORT" in str(said[-1].message)
    stored = await store.load({"project_key": key_of(sdk), "session_id": id_, "subpath": f"subagents/agent-{agent}"})
    entries: list[Any] = [*(stored or ())]
    described = [entry for entry in entries if entry["type"] == "agent_metadata"]
    assert [entry["agentType"] for entry in described] == ["general-purpose"]


def key_of(sdk: SdkHost) -> str:
    (folder,) = (sdk.home / ".claude" / "projects").iterdir()
    return folder.name
