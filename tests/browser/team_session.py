"""A session with three sub-agents, one of which asks, a command in the background and MCP servers in every state."""

import json
from pathlib import Path
from typing import Any

from msgspec import Struct

from bobstay.config.trust_parts import executable_parts
from bobstay.config.trust_store import TrustStore
from tests.browser.kit import WebConsole
from tests.browser.sample_sessions import begin, project
from tests.kit.mcp_sessions import scripted_entry
from tests.modelserver.script import PHRASE, Call, Gate, Say, Step

PROMPT = "Split the cart bug up: find the race, write a test that shows it, and review the locking."
RACE = "Find out where totals are read without the lock."
TEST = "Write a test that fails while the race is there."
REVIEW = "Review how the cart uses its lock."
DEPLOY = "---\ndescription: Ship the shop to an environment\nargument-hint: <environment>\n---\nShip it to $ARGUMENTS."
SKILL = "---\nname: flaky-tests\ndescription: How we hunt flaky tests\n---\nRepeat it a thousand times."


class TeamSession(Struct):
    id: str
    gate: Gate


async def start_team_session(web: WebConsole, tracker: str) -> TeamSession:
    """`tracker` is the address of an MCP server that wants a sign-in."""
    folder = prepare_project(web)
    gate = Gate()
    play_agents(web, gate)
    config = {"mcpServers": {"issues": scripted_entry(), "tracker": {"type": "http", "url": tracker}}}
    id = await begin(web, folder, PROMPT, lead(), mcp_config=config, allowed_tools=["Bash(sleep:*)"])
    await web.server.until(id, lambda view: bool(view.interactions) and view.turns >= 2 and len(view.background) == 4)
    await gate.reached()
    return TeamSession(id, gate)


def prepare_project(web: WebConsole) -> Path:
    folder = project(web.folder / "warehouse")
    database = {"command": "npx", "args": ["-y", "warehouse-database", "--read-only"]}
    servers = {"database": database, "metrics": scripted_entry(MCP_MODE="exit")}
    files: dict[str, Any] = {
        ".mcp.json": json.dumps({"mcpServers": servers}),
        ".bobstay/settings.json": json.dumps({"enabledMcpjsonServers": ["metrics"]}),
        ".bobstay/commands/deploy.md": DEPLOY,
        ".bobstay/skills/flaky-tests/SKILL.md": SKILL,
        ".bobstay/agents/reviewer.md": "---\nname: reviewer\ndescription: Looks twice\n---\nLook twice.",
        ".bobstay/agents/broken.md": "---\ncolor: red\n---\nIt has no name.",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    TrustStore(web.server.environment.paths.bobstay).put(str(folder), executable_parts(str(folder)))
    return folder


def agent(kind: str, about: str, prompt: str) -> Call:
    return Call("Agent", {"subagent_type": kind, "description": about, "prompt": prompt})


def lead() -> list[Step]:
    serve = {"command": "sleep 600", "description": "Serve the shop on port 8000", "run_in_background": True}
    return [
        Step(
            blocks=[
                Say("Three agents can work on this at once."),
                agent("Explore", "Find the race in cart totals", RACE),
                agent("general-purpose", "Write a test that shows the race", TEST),
                agent("reviewer", "Review the locking of the cart", REVIEW),
                Call("Bash", serve),
            ]
        ),
        Step(blocks=[Say("They work in the background. I wait for their reports.")]),
        Step(blocks=[Say("The **review** is back: `add()` takes the lock, `total()` does not. Two still work.")]),
    ]


def play_agents(web: WebConsole, gate: Gate) -> None:
    reads = [Call("Read", {"file_path": "src/cart.py"}), Call("Grep", {"pattern": "_lock", "path": "src"})]
    words = "`total()` adds up the items while `add()` may append to them. "
    web.play(PHRASE + RACE, Step(blocks=[*reads]), Step(blocks=[Say(words), Say("unseen")], gate=gate, gate_after=1))
    check = {"command": "python3 -m pytest -q --count=500 tests/cart", "description": "Repeat the race 500 times"}
    web.play(
        PHRASE + TEST,
        Step(blocks=[Call("Read", {"file_path": "tests/cart/test_cart.py"})]),
        Step(blocks=[Call("Bash", check)]),
        Step(blocks=[Say("It fails as it should.")]),
    )
    web.play(
        PHRASE + REVIEW,
        Step(blocks=[Call("Read", {"file_path": "src/cart.py"})]),
        Step(blocks=[Say("`add()` takes the lock, `total()` does not.")]),
    )
