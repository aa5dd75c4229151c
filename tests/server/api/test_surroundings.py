"""What is around an engine: for our own from settings, for others from what they said and the files they read."""

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobstay.config.trust_parts import executable_parts
from bobstay.config.trust_store import TrustStore
from bobstay.server.inventory.redacted_commands import concealed
from bobstay.server.workers.process.engine_init import LONGEST, MOST, EngineSurface
from tests.modelserver.server import ModelServer
from tests.server.api.place import SECRET, Place

ENGINE = """
import json, sys
def out(**frame): print(json.dumps(frame), flush=True)
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "control_request":
        commands = [{"name": "compact", "description": "Make it shorter", "argumentHint": "<how>"}]
        answer = {"subtype": "success", "request_id": frame["request_id"], "response": {"commands": commands}}
        out(type="control_response", response=answer)
    elif frame["type"] == "user":
        out(type="system", subtype="init", session_id="e-1", model="fake-1", permissionMode="default",
            tools=["Bash", "Task"], slash_commands=["compact", "deploy"], agents=["reviewer"], skills=["pdf"],
            mcp_servers=[{"name": "github", "status": "connected"}, {"name": "db", "status": "failed"}],
            claude_code_version="2.9.9")
        out(type="result", subtype="success", is_error=False, result="ok", num_turns=1, session_id="e-1")
"""


@pytest.fixture
async def both(model: ModelServer, tmp_path: Path) -> AsyncIterator[Place]:
    """A place with an external engine beside our own."""
    script = tmp_path / "engine.py"
    script.write_text(ENGINE)
    async with Place(model, tmp_path, engines={"other": (sys.executable, "-S", str(script))}) as made:
        trust(made)  # an engine nobody knows starts in no other folder
        yield made


def trust(place: Place) -> None:
    TrustStore(place.environment.paths.bobstay).put(str(place.work), executable_parts(str(place.work)))


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def hooks(command: str, matcher: str = "Bash") -> dict[str, Any]:
    return {"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}]}}


async def of_place(place: Place, engine: str = "native") -> Any:
    reply = await place.get(f"/api/v1/surroundings?cwd={place.work}&engine={engine}")
    assert reply.status == 200, reply.body
    return reply.json


async def test_hooks_of_an_untrusted_folder_are_listed_and_marked_and_never_run(place: Place, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    write(place.work / ".bobstay" / "settings.json", hooks(f"touch {ran}"))
    write(tmp_path / "bobstay" / "settings.json", hooks("my-check", ""))
    id = await place.launch()
    said = (await place.get(f"/api/v1/sessions/{id}/surroundings")).json
    found = {hook["command"]: hook for hook in said["hooks"]}
    mine, theirs = found["my-check"], found[f"touch {ran}"]
    assert (mine["level"], mine["trusted"], mine["in_force"], mine["event"]) == ("user", True, True, "PreToolUse")
    assert (theirs["level"], theirs["trusted"], theirs["in_force"]) == ("project", False, False)
    assert theirs["matcher"] == "Bash"
    assert theirs["source"] == str(place.work / ".bobstay" / "settings.json")
    assert said["trusted"] is False
    assert "not trusted" in said["notice"]
    assert not ran.exists()
    trust(place)
    trusted = await of_place(place)
    assert all(hook["in_force"] and hook["trusted"] for hook in trusted["hooks"])
    assert not ran.exists()


async def test_the_branch_is_named_where_there_is_one(place: Place) -> None:
    assert (await of_place(place))["branch"] == ""
    write(place.work / ".git" / "HEAD", "ref: refs/heads/feat/cart\n")
    assert (await of_place(place))["branch"] == "feat/cart"
    write(place.work / ".git" / "HEAD", "ref: refs/heads/<img src=x>\n")
    assert (await of_place(place))["branch"] == ""


async def test_our_own_engine_says_what_it_can_and_cannot(place: Place) -> None:
    said = await of_place(place)
    able = said["capabilities"]
    assert {name for name, can in able.items() if not can} == {
        *("rewind", "compact", "terminal_resume", "slash_commands", "mcp", "skills", "agents"),
    }
    assert (said["origin"], said["engine"], said["sandbox"]["enabled"]) == ("settings", "native", False)
    assert {"Bash", "Edit", "AskUserQuestion"} <= set(said["tools"])
    assert said["commands"] == said["skills"] == said["agents"] == []
    planning = (await place.get(f"/api/v1/surroundings?cwd={place.work}&workflow=research")).json
    assert {"Edit", "Write"} & set(planning["tools"]) == set()


async def test_instruction_files_and_servers_are_named_with_where_they_are(place: Place, tmp_path: Path) -> None:
    write(place.work / "AGENTS.md", "Be kind.")
    write(tmp_path / "bobstay" / "AGENTS.md", "Be brief.")
    server = {"mcpServers": {"db": {"command": "db", "env": {"PASSWORD": "hunter2"}}}}
    write(place.work / ".mcp.json", server)
    write(tmp_path / "bobstay" / "settings.json", {"sandbox": {"enabled": True}})
    said = await of_place(place)
    files = {file["path"]: file for file in said["instructions"]}
    assert files[str(place.work / "AGENTS.md")]["bytes"] == 8
    assert files[str(place.work / "AGENTS.md")]["trusted"] is False
    assert files[str(tmp_path / "bobstay" / "AGENTS.md")]["level"] == "user"
    (database,) = said["mcp_servers"]
    assert (database["name"], database["state"], database["trusted"]) == ("db", "not_used", False)
    assert "hunter2" not in json.dumps(said)
    assert said["sandbox"]["enabled"] is True
    assert said["sandbox"]["kind"] or said["sandbox"]["problem"]


async def test_an_external_engine_is_known_by_its_files_until_it_speaks(both: Place, tmp_path: Path) -> None:
    write(
        both.work / ".claude" / "commands" / "deploy.md", "---\ndescription: Ship it\nargument-hint: <where>\n---\nGo"
    )
    write(both.work / ".claude" / "commands" / "team" / "retro.md", "no head")
    write(both.work / ".claude" / "skills" / "pdf" / "SKILL.md", "---\nname: pdf\ndescription: Reads PDF\n---\n")
    write(tmp_path / ".claude" / "agents" / "reviewer.md", "---\nname: reviewer\ndescription: Looks twice\n---\n")
    write(both.work / ".claude" / "settings.json", hooks("theirs"))
    write(both.work / ".claude" / "CLAUDE.md", "12345")
    secret = tmp_path / "outside.md"
    secret.write_text("---\ndescription: the secret\n---\n")
    (both.work / ".claude" / "commands" / "link.md").symlink_to(secret)
    trust(both)
    early = await of_place(both, "other")
    assert (early["origin"], early["at"], early["tools"]) == ("files", None, [])
    assert {command["name"] for command in early["commands"]} == {"deploy", "team:retro"}
    assert "the secret" not in json.dumps(early)
    assert [hook["in_force"] for hook in early["hooks"]] == [True]
    assert [file["bytes"] for file in early["instructions"]] == [5]
    assert early["capabilities"]["compact"] is False
    config = {"mcpServers": {"github": {"command": "gh"}}}
    id = await both.launch("hello", engine="other", mcp_config=config)
    await both.until_status(id, "completed")
    said = (await both.get(f"/api/v1/sessions/{id}/surroundings")).json
    assert (said["origin"], said["version"], said["tools"]) == ("engine", "2.9.9", ["Bash", "Task"])
    assert said["at"] > 0
    commands = {command["name"]: command for command in said["commands"]}
    assert commands["compact"]["description"] == "Make it shorter"
    assert commands["compact"]["hint"] == "<how>"
    assert (commands["deploy"]["description"], commands["deploy"]["level"]) == ("Ship it", "project")
    assert "team:retro" not in commands
    assert [(server["name"], server["state"], server["level"]) for server in said["mcp_servers"]] == [
        ("github", "connected", "session"),
        ("db", "failed", "engine"),
    ]
    assert said["skills"][0]["description"] == "Reads PDF"
    assert (said["agents"][0]["description"], said["agents"][0]["level"]) == ("Looks twice", "user")
    able = said["capabilities"]
    assert [able[name] for name in ("compact", "terminal_resume", "mcp", "rewind")] == [True, True, True, False]
    again = await both.post(f"/api/v1/sessions/{id}/messages", {"content": "once more"})
    assert again.status == 202
    await both.until(id, lambda view: view.turns == 2 and view.status == "completed")
    rows = (await both.get(f"/api/v1/sessions/{id}/rows")).json["rows"]
    assert [row for row in rows if row["kind"] == "raw"] == []
    page = (await both.get(f"/api/v1/sessions/{id}/events")).json["events"]
    assert len([entry for entry in page if entry["event"]["type"] == "raw"]) == 1  # it said the same twice


async def test_an_external_engine_is_shown_without_what_an_untrusted_folder_names(both: Place, tmp_path: Path) -> None:
    write(both.work / ".claude" / "commands" / "deploy.md", "Go")
    write(both.work / ".claude" / "settings.json", hooks("theirs"))
    write(both.work / ".mcp.json", {"mcpServers": {"db": {"command": "db"}}})
    write(tmp_path / ".claude" / "commands" / "mine.md", "Go")
    said = await of_place(both, "other")
    assert (said["trusted"], [hook["in_force"] for hook in said["hooks"]]) == (False, [False])
    assert "bobstay trust add" in said["notice"]
    assert [command["name"] for command in said["commands"]] == ["mine"]
    assert [(server["name"], server["state"]) for server in said["mcp_servers"]] == [("db", "not_used")]
    refused = await both.post("/api/v1/sessions", {"cwd": str(both.work), "prompt": "hello", "engine": "other"})
    assert (refused.status, refused.json["error"]["code"]) == (422, "cannot_start")
    assert "bobstay trust add" in refused.json["error"]["message"]
    trust(both)
    assert [hook["in_force"] for hook in (await of_place(both, "other"))["hooks"]] == [True]
    await both.until_status(await both.launch("hello", engine="other"), "completed")


async def test_what_an_engine_said_survives_a_rebuild(both: Place) -> None:
    id = await both.launch("hello", engine="other")
    await both.until_status(id, "completed")
    before = (await both.get(f"/api/v1/sessions/{id}/surroundings")).json
    await both.console.database.rebuild(both.console.registry.store)
    assert (await both.get(f"/api/v1/sessions/{id}/surroundings")).json == before
    assert before["origin"] == "engine"


async def test_a_one_shot_engine_cannot_be_steered_or_shown_pictures(both: Place) -> None:
    id = await both.launch(engine="other", live=False)
    able = (await both.get(f"/api/v1/sessions/{id}/surroundings")).json["capabilities"]
    assert [able[name] for name in ("steer", "images", "ask_user", "queue", "fork")] == [
        False,
        False,
        False,
        True,
        True,
    ]


async def test_broken_settings_are_told_in_words_and_secrets_are_masked(place: Place) -> None:
    write(place.work / ".bobstay" / "settings.json", '{"hooks": 7}')
    write(place.work / ".bobstay" / "settings.local.json", hooks(f"curl -H {SECRET}"))
    said = await of_place(place)
    assert any("settings.json:1:" in problem for problem in said["problems"])
    assert SECRET not in json.dumps(said)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("DEPLOY_TOKEN=hunter2 ./deploy", "DEPLOY_TOKEN=[masked DEPLOY_TOKEN] ./deploy"),
        ("export PASSWORD='a b' && run", "export PASSWORD=[masked PASSWORD] && run"),
        ("notify --api-key hunter2 --loud", "notify --api-key [masked api_key] --loud"),
        ("notify --api-key=hunter2", "notify --api-key=[masked api_key]"),
        ('curl -H "X-Api-Key: hunter2" x', 'curl -H "X-Api-Key: [masked X_Api_Key]" x'),
        ("curl -H 'Authorization: Basic aHVudGVyMg=='", "curl -H 'Authorization: [masked Authorization]'"),
        ("curl -u me:hunter2 x", "curl -u me:[masked password] x"),
        ("pg postgres://me:hunter2@db/x", "pg postgres://me:[masked password]@db/x"),
        ("""post '{"secret": "hunter2"}'""", """post '{"secret": [masked secret]}'"""),
        ("DEPLOY_TOKEN=$MINE ./deploy", ""),
        ('curl -H "Authorization: Bearer $TOKEN" x', ""),
        ("lint --fix --max-warnings 3 src/a.py:12", ""),
        ("echo done: see https://example.com:8080/x", ""),
    ],
)
def test_keys_in_the_command_of_a_hook_are_not_shown(command: str, shown: str) -> None:
    assert concealed(command) == (shown or command)
    assert concealed(concealed(command)) == concealed(command)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="aT_=: -'\"$:/@{}\n", max_size=200))
def test_any_command_can_be_shown(command: str) -> None:
    assert concealed(command).count("\n") == command.count("\n")


async def test_a_key_in_a_hook_does_not_leave_the_server(place: Place) -> None:
    write(place.work / ".bobstay" / "settings.local.json", hooks("DEPLOY_TOKEN=hunter2hunter2 ./deploy"))
    said = await of_place(place)
    assert "hunter2" not in json.dumps(said)
    assert [hook["command"] for hook in said["hooks"]] == ["DEPLOY_TOKEN=[masked DEPLOY_TOKEN] ./deploy"]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("cwd=/etc", 403),
        ("cwd=relative", 422),
        ("cwd={work}/nowhere", 404),
        ("cwd={work}&engine=ghost", 422),
        ("cwd={work}&workflow=dance", 422),
        ("", 422),
    ],
)
async def test_places_out_of_bounds_are_refused(place: Place, query: str, status: int) -> None:
    reply = await place.get(f"/api/v1/surroundings?{query.format(work=place.work)}")
    assert reply.status == status
    assert reply.json["error"]["message"]


async def test_reading_is_enough_and_needed(place: Place) -> None:
    reader, approver = await place.token("read"), await place.token("approve")
    path = f"/api/v1/surroundings?cwd={place.work}"
    assert (await place.get(path, headers=reader)).status == 200
    assert (await place.get(path, headers=approver)).status == 403


def test_whatever_an_init_holds_little_of_it_is_kept() -> None:
    around = EngineSurface()
    strange: list[dict[str, Any]] = [
        {},
        {"tools": "Bash", "mcp_servers": {"a": 1}, "slash_commands": [1, None, {"name": ""}], "agents": None},
        {"mcp_servers": [[], "x", {"status": "connected"}, {"name": 7}]},
    ]
    assert [around.told(frame) for frame in strange] == [(), (), ()]
    around.described({"response": {"response": {"commands": ["x", {"name": 3}, {"name": "go"}]}}})
    around.described({"response": "no"})
    (kept,) = around.told({"tools": ["x" * 10_000] * 10_000, "extra": "y" * 10_000, "model": 5})
    assert len(kept.data["tools"]) == MOST
    assert len(kept.data["tools"][0]) == LONGEST
    assert set(kept.data) == {"type", "subtype", "tools", "commands"}
    assert around.told({"tools": ["x" * 10_000] * 10_000}) == ()
