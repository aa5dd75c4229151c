"""The inventory of an engine: of the native one from settings, of external ones from their reports and files."""

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
from bobstay.server.inventory.redacted_commands import redact_command
from bobstay.server.workers.process.engine_init import LONGEST, MOST, EngineSurface
from tests.kit.consoles import RunningConsole
from tests.kit.environments import KEY
from tests.kit.mcp_sessions import scripted_entry
from tests.kit.waiting import until_true
from tests.modelserver.script import Say, Step
from tests.modelserver.server import ModelServer

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
async def both(model: ModelServer, tmp_path: Path) -> AsyncIterator[RunningConsole]:
    """A console with an external engine beside the native one."""
    script = tmp_path / "engine.py"
    script.write_text(ENGINE)
    async with RunningConsole(model, tmp_path, engines={"other": (sys.executable, "-S", str(script))}) as made:
        trust(made)  # an engine nobody knows starts in no other folder
        yield made


def trust(server: RunningConsole) -> None:
    TrustStore(server.environment.paths.bobstay).put(str(server.work), executable_parts(str(server.work)))


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def hooks(command: str, matcher: str = "Bash") -> dict[str, Any]:
    return {"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}]}}


async def inventory_of_directory(server: RunningConsole, engine: str = "native") -> Any:
    reply = await server.get(f"/api/v1/surroundings?cwd={server.work}&engine={engine}")
    assert reply.status == 200, reply.body
    return reply.json


async def test_hooks_of_an_untrusted_folder_are_listed_and_marked_and_never_run(
    server: RunningConsole, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    write(server.work / ".bobstay" / "settings.json", hooks(f"touch {ran}"))
    write(tmp_path / "bobstay" / "settings.json", hooks("my-check", ""))
    id = await server.launch()
    report = (await server.get(f"/api/v1/sessions/{id}/surroundings")).json
    found = {hook["command"]: hook for hook in report["hooks"]}
    mine, theirs = found["my-check"], found[f"touch {ran}"]
    assert (mine["level"], mine["trusted"], mine["in_force"], mine["event"]) == ("user", True, True, "PreToolUse")
    assert (theirs["level"], theirs["trusted"], theirs["in_force"]) == ("project", False, False)
    assert theirs["matcher"] == "Bash"
    assert theirs["source"] == str(server.work / ".bobstay" / "settings.json")
    assert report["trusted"] is False
    assert "not trusted" in report["notice"]
    assert not ran.exists()
    trust(server)
    trusted = await inventory_of_directory(server)
    assert all(hook["in_force"] and hook["trusted"] for hook in trusted["hooks"])
    assert not ran.exists()


async def test_the_branch_is_named_where_there_is_one(server: RunningConsole) -> None:
    assert (await inventory_of_directory(server))["branch"] == ""
    write(server.work / ".git" / "HEAD", "ref: refs/heads/feat/cart\n")
    assert (await inventory_of_directory(server))["branch"] == "feat/cart"
    write(server.work / ".git" / "HEAD", "ref: refs/heads/<img src=x>\n")
    assert (await inventory_of_directory(server))["branch"] == ""


async def test_our_own_engine_says_what_it_can_and_cannot(server: RunningConsole) -> None:
    report = await inventory_of_directory(server)
    able = report["capabilities"]
    assert {name for name, can in able.items() if not can} == {
        *("rewind", "compact", "terminal_resume"),
    }
    assert (report["origin"], report["engine"], report["sandbox"]["enabled"]) == ("settings", "native", False)
    assert {"Bash", "Edit", "AskUserQuestion"} <= set(report["tools"])
    assert {agent["name"] for agent in report["agents"]} >= {"Explore", "general-purpose", "Plan"}
    planning = (await server.get(f"/api/v1/surroundings?cwd={server.work}&workflow=research")).json
    assert {"Edit", "Write"} & set(planning["tools"]) == set()


async def test_commands_skills_and_agents_are_listed_with_where_they_come_from(
    server: RunningConsole, tmp_path: Path
) -> None:
    """H9-1, H9-4: those that cannot be used are named with their file and the reason."""
    head = "---\ndescription: Ship it\nargument-hint: <where>\n---\nGo"
    write(server.work / ".bobstay" / "commands" / "deploy.md", head)
    write(tmp_path / "bobstay" / "skills" / "pdf" / "SKILL.md", "---\nname: pdf\ndescription: Reads PDF\n---\nRead.")
    write(tmp_path / "bobstay" / "agents" / "reviewer.md", "---\nname: reviewer\ndescription: Looks twice\n---\nLook.")
    broken = server.work / ".bobstay" / "agents" / "nameless.md"
    write(broken, "---\ncolor: red\n---\nHm.")
    trust(server)
    report = await inventory_of_directory(server)
    commands = {command["name"]: command for command in report["commands"]}
    deploy = commands["deploy"]
    assert (deploy["description"], deploy["hint"], deploy["level"], deploy["kind"]) == (
        *("Ship it", "<where>", "project", "command"),
    )
    assert (commands["pdf"]["kind"], commands["pdf"]["level"]) == ("skill", "user")
    assert (commands["cost"]["kind"], commands["init"]["level"]) == ("builtin", "bundled")
    (skill,) = [each for each in report["skills"] if each["name"] == "pdf"]
    assert (skill["level"], skill["source"]) == ("user", str(tmp_path / "bobstay" / "skills" / "pdf" / "SKILL.md"))
    agents = {agent["name"]: agent["level"] for agent in report["agents"]}
    assert (agents["reviewer"], agents["Explore"]) == ("user", "bundled")
    assert [problem for problem in report["problems"] if problem.startswith(str(broken))]


async def test_prompts_of_connected_servers_are_commands(
    server: RunningConsole, model: ModelServer, tmp_path: Path
) -> None:
    write(tmp_path / "bobstay" / "settings.json", {"mcpServers": {"srv": scripted_entry()}})
    id = await server.launch(model.play("hello", Step(blocks=[Say("Hello.")])))
    await server.until_status(id, "completed")

    async def is_listed() -> bool:
        report = (await server.get(f"/api/v1/sessions/{id}/surroundings")).json
        found = [command for command in report["commands"] if command["kind"] == "prompt"]
        return [(command["name"], command["hint"]) for command in found] == [("mcp__srv__greet", "<who> [how]")]

    await until_true(is_listed)


async def test_instruction_files_and_servers_are_named_with_where_they_are(
    server: RunningConsole, tmp_path: Path
) -> None:
    write(server.work / "AGENTS.md", "Be kind.")
    write(tmp_path / "bobstay" / "AGENTS.md", "Be brief.")
    mcp_server = {"mcpServers": {"db": {"command": "db", "env": {"PASSWORD": "hunter2"}}}}
    write(server.work / ".mcp.json", mcp_server)
    write(tmp_path / "bobstay" / "settings.json", {"sandbox": {"enabled": True}})
    report = await inventory_of_directory(server)
    files = {file["path"]: file for file in report["instructions"]}
    assert files[str(server.work / "AGENTS.md")]["bytes"] == 8
    assert files[str(server.work / "AGENTS.md")]["trusted"] is False
    assert files[str(tmp_path / "bobstay" / "AGENTS.md")]["level"] == "user"
    (database,) = report["mcp_servers"]
    assert (database["name"], database["state"], database["trusted"]) == ("db", "disabled", False)
    assert "hunter2" not in json.dumps(report)
    assert report["sandbox"]["enabled"] is True
    assert report["sandbox"]["kind"] or report["sandbox"]["problem"]


async def test_an_external_engine_is_known_by_its_files_until_it_speaks(both: RunningConsole, tmp_path: Path) -> None:
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
    early = await inventory_of_directory(both, "other")
    assert (early["origin"], early["at"], early["tools"]) == ("files", None, [])
    assert {command["name"] for command in early["commands"]} == {"deploy", "team:retro"}
    assert "the secret" not in json.dumps(early)
    assert [hook["in_force"] for hook in early["hooks"]] == [True]
    assert [file["bytes"] for file in early["instructions"]] == [5]
    assert early["capabilities"]["compact"] is False
    config = {"mcpServers": {"github": {"command": "gh"}}}
    id = await both.launch("hello", engine="other", mcp_config=config)
    await both.until_status(id, "completed")
    report = (await both.get(f"/api/v1/sessions/{id}/surroundings")).json
    assert (report["origin"], report["version"], report["tools"]) == ("engine", "2.9.9", ["Bash", "Task"])
    assert report["at"] > 0
    commands = {command["name"]: command for command in report["commands"]}
    assert commands["compact"]["description"] == "Make it shorter"
    assert commands["compact"]["hint"] == "<how>"
    assert (commands["deploy"]["description"], commands["deploy"]["level"]) == ("Ship it", "project")
    assert "team:retro" not in commands
    assert [(mcp_server["name"], mcp_server["state"], mcp_server["level"]) for mcp_server in report["mcp_servers"]] == [
        ("github", "connected", "session"),
        ("db", "failed", "engine"),
    ]
    assert report["skills"][0]["description"] == "Reads PDF"
    assert (report["agents"][0]["description"], report["agents"][0]["level"]) == ("Looks twice", "user")
    able = report["capabilities"]
    assert [able[name] for name in ("compact", "terminal_resume", "mcp", "rewind")] == [True, True, True, False]
    again = await both.post(f"/api/v1/sessions/{id}/messages", {"content": "once more"})
    assert again.status == 202
    await both.until(id, lambda view: view.turns == 2 and view.status == "completed")
    rows = (await both.get(f"/api/v1/sessions/{id}/rows")).json["rows"]
    assert [row for row in rows if row["kind"] == "raw"] == []
    page = (await both.get(f"/api/v1/sessions/{id}/events")).json["events"]
    assert len([entry for entry in page if entry["event"]["type"] == "raw"]) == 1  # it said the same twice


async def test_an_external_engine_is_shown_without_what_an_untrusted_folder_names(
    both: RunningConsole, tmp_path: Path
) -> None:
    write(both.work / ".claude" / "commands" / "deploy.md", "Go")
    write(both.work / ".claude" / "settings.json", hooks("theirs"))
    write(both.work / ".mcp.json", {"mcpServers": {"db": {"command": "db"}}})
    write(tmp_path / ".claude" / "commands" / "mine.md", "Go")
    report = await inventory_of_directory(both, "other")
    assert (report["trusted"], [hook["in_force"] for hook in report["hooks"]]) == (False, [False])
    assert "bobstay trust add" in report["notice"]
    assert [command["name"] for command in report["commands"]] == ["mine"]
    assert [(mcp_server["name"], mcp_server["state"]) for mcp_server in report["mcp_servers"]] == [("db", "not_used")]
    refused = await both.post("/api/v1/sessions", {"cwd": str(both.work), "prompt": "hello", "engine": "other"})
    assert (refused.status, refused.json["error"]["code"]) == (422, "cannot_start")
    assert "bobstay trust add" in refused.json["error"]["message"]
    trust(both)
    assert [hook["in_force"] for hook in (await inventory_of_directory(both, "other"))["hooks"]] == [True]
    await both.until_status(await both.launch("hello", engine="other"), "completed")


async def test_what_an_engine_said_survives_a_rebuild(both: RunningConsole) -> None:
    id = await both.launch("hello", engine="other")
    await both.until_status(id, "completed")
    before = (await both.get(f"/api/v1/sessions/{id}/surroundings")).json
    await both.database.rebuild()
    assert (await both.get(f"/api/v1/sessions/{id}/surroundings")).json == before
    assert before["origin"] == "engine"


async def test_a_one_shot_engine_cannot_be_steered_or_shown_pictures(both: RunningConsole) -> None:
    id = await both.launch(engine="other", live=False)
    able = (await both.get(f"/api/v1/sessions/{id}/surroundings")).json["capabilities"]
    assert [able[name] for name in ("steer", "images", "ask_user", "queue", "fork")] == [
        False,
        False,
        False,
        True,
        True,
    ]


async def test_broken_settings_are_told_in_words_and_secrets_are_masked(server: RunningConsole) -> None:
    write(server.work / ".bobstay" / "settings.json", '{"hooks": 7}')
    write(server.work / ".bobstay" / "settings.local.json", hooks(f"curl -H {KEY}"))
    report = await inventory_of_directory(server)
    assert any("settings.json:1:" in problem for problem in report["problems"])
    assert KEY not in json.dumps(report)


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
    assert redact_command(command) == (shown or command)
    assert redact_command(redact_command(command)) == redact_command(command)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="aT_=: -'\"$:/@{}\n", max_size=200))
def test_any_command_can_be_shown(command: str) -> None:
    assert redact_command(command).count("\n") == command.count("\n")


async def test_a_key_in_a_hook_does_not_leave_the_server(server: RunningConsole) -> None:
    write(server.work / ".bobstay" / "settings.local.json", hooks("DEPLOY_TOKEN=hunter2hunter2 ./deploy"))
    report = await inventory_of_directory(server)
    assert "hunter2" not in json.dumps(report)
    assert [hook["command"] for hook in report["hooks"]] == ["DEPLOY_TOKEN=[masked DEPLOY_TOKEN] ./deploy"]


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
async def test_places_out_of_bounds_are_refused(server: RunningConsole, query: str, status: int) -> None:
    reply = await server.get(f"/api/v1/surroundings?{query.format(work=server.work)}")
    assert reply.status == status
    assert reply.json["error"]["message"]


async def test_reading_is_enough_and_needed(server: RunningConsole) -> None:
    reader, approver = await server.token("read"), await server.token("approve")
    path = f"/api/v1/surroundings?cwd={server.work}"
    assert (await server.get(path, headers=reader)).status == 200
    assert (await server.get(path, headers=approver)).status == 403


def test_whatever_an_init_holds_little_of_it_is_kept() -> None:
    surface = EngineSurface()
    strange: list[dict[str, Any]] = [
        {},
        {"tools": "Bash", "mcp_servers": {"a": 1}, "slash_commands": [1, None, {"name": ""}], "agents": None},
        {"mcp_servers": [[], "x", {"status": "connected"}, {"name": 7}]},
    ]
    assert [surface.new_inventory(frame) for frame in strange] == [(), (), ()]
    surface.learn_commands({"response": {"response": {"commands": ["x", {"name": 3}, {"name": "go"}]}}})
    surface.learn_commands({"response": "no"})
    (kept,) = surface.new_inventory({"tools": ["x" * 10_000] * 10_000, "extra": "y" * 10_000, "model": 5})
    assert len(kept.data["tools"]) == MOST
    assert len(kept.data["tools"][0]) == LONGEST
    assert set(kept.data) == {"type", "subtype", "tools", "commands"}
    assert surface.new_inventory({"tools": ["x" * 10_000] * 10_000}) == ()
