"""`python -m benchmarks.extension_start [--rounds 15]`: a start with skills, commands, agents and bad MCP servers,
against one with none; and what 500 tools of a server cost until one is searched for."""

import argparse
import json
import os
import random
import statistics
import sys

from msgspec.structs import replace

from benchmarks import run
from benchmarks.contenders import Contender, ours, search_path
from benchmarks.machine import adopt_orphans, end_leftovers
from benchmarks.scratch import Scratch

LIMIT = 1.15
SHARE = 0.01
TOOLS = 500
PROOF = "slow-servers"
SLOW = f"""
import os, sys, time
with open(os.path.expanduser("~/{PROOF}"), "a") as proof:
    print(sys.argv[1], file=proof)
time.sleep(8)
"""
"""A server that is not there before the session is over. It notes that it was started."""
ABOUT = "What this one is for, in a sentence of a usual length for such a thing"
DEFINITIONS = 35
MANY = """
import json, sys
TEXT = "One of the many things that this server does, told at the length that servers tell such things. " * 3
FIELDS = {name: {"type": "string", "description": TEXT} for name in ("first", "second", "third", "fourth")}
TOOLS = [
    {"name": f"tool_{n}_of_many", "description": TEXT, "inputSchema": {"type": "object", "properties": FIELDS}}
    for n in range(int(sys.argv[1]))
]
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {"tools": TOOLS} if message["method"] == "tools/list" else {}
    if message["method"] == "initialize":
        info = {"name": "many", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.extension_start", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--command", default="", help="our command, if not the one beside this Python")
    options = parser.parse_args()
    adopt_orphans()
    plain = ours(options.command)
    extended = replace(plain, name="extended", files={**plain.files, **_library(), ".claude.json": _bad_servers()})
    with Scratch([plain, extended]) as scratch:
        ratio, times = _starts(plain, extended, scratch, options.rounds)
    share, bytes_ = _many_tools(plain)
    print(f"| start to first request, load {os.getloadavg()[0]:.1f} | with none | with all | ratio | at most |")
    print("|---|---|---|---|---|")
    print(f"| 20 skills, 10 commands, 5 agents, 10 bad servers | {times[0]} | {times[1]} | {ratio:.3f} | {LIMIT} |")
    print()
    print(f"| first request with {TOOLS} tools | of their schemas | added to the request | share | at most |")
    print("|---|---|---|---|---|")
    print(f"| searched for | {bytes_[0]:,} bytes | {bytes_[1]:,} bytes | {share:.4f} | {SHARE} |")
    return 0 if ratio <= LIMIT and share <= SHARE else 1


def _starts(plain: Contender, extended: Contender, scratch: Scratch, rounds: int) -> tuple[float, list[str]]:
    _check_used(plain, extended, scratch)
    for _ in range(3):  # how often a server is waited for before it is known to be late
        run.measure(extended, scratch, search_path(""), "hi")
    starts: dict[str, list[float]] = {plain.name: [], extended.name: []}
    for _ in range(rounds):
        for contender in random.sample((plain, extended), 2):
            measured = run.measure(contender, scratch, search_path(""), "hi")
            if not measured.good:
                sys.exit(measured.output)
            starts[contender.name].append(measured.first_request)
    # By rounds: the two runs of one are next to each other, and the load of the machine changes slowly.
    pairs = zip(starts[extended.name], starts[plain.name], strict=True)
    medians = [f"{statistics.median(starts[name]) * 1000:.0f} ms" for name in (plain.name, extended.name)]
    return statistics.median(one / other for one, other in pairs), medians


def _check_used(plain: Contender, extended: Contender, scratch: Scratch) -> None:
    """A start that leaves all of it out costs nothing: the definitions must be told, and the servers started."""
    sizes = [_first_size(contender, scratch) for contender in (plain, extended)]
    if sizes[1] - sizes[0] < DEFINITIONS * len(ABOUT):
        sys.exit(f"The definitions are not in the first request: {sizes[0]} bytes without, {sizes[1]} with them.")
    proof = scratch.home(extended) / PROOF
    started = set(proof.read_text().split()) if proof.exists() else set[str]()
    if len(started) != 5:
        sys.exit(f"Of the five slow servers {len(started)} were started.")


def _first_size(contender: Contender, scratch: Scratch) -> int:
    """The bytes of the first request."""
    process = run.Process(contender, scratch, search_path(""), "hi", 1)
    process.start()
    process.wait()
    output, requests = process.output(), process.main_requests(scratch.lines())
    end_leftovers({scratch.model})
    return requests[0].size if requests else sys.exit(output)


def _many_tools(plain: Contender) -> tuple[float, tuple[int, int]]:
    """The share of the schemas that is in the first request, and both in bytes."""
    sizes: dict[str, int] = {}
    for name, count, search in (("none", 0, "true"), ("all", TOOLS, "false"), ("searched", TOOLS, "true")):
        config = json.dumps({"mcpServers": {"many": {"command": sys.executable, "args": ["-c", MANY, str(count)]}}})
        contender = replace(
            plain,
            name=name,
            arguments=[*plain.arguments, "--mcp-config", config.replace("{", "{{").replace("}", "}}")],
            environment={**plain.environment, "ENABLE_TOOL_SEARCH": search},
        )
        with Scratch([contender]) as scratch:
            sizes[name] = _first_size(contender, scratch)
    schemas, added = sizes["all"] - sizes["none"], sizes["searched"] - sizes["none"]
    if schemas < TOOLS * 1000 or added < len("ToolSearch"):
        sys.exit(f"The server's tools were not there: {schemas} bytes without search, {added} with it.")
    return added / schemas, (schemas, added)


def _library() -> dict[str, str]:
    about = ABOUT
    body = "Do it like this.\n" * 200
    found = {f".claude/skills/skill{n}/SKILL.md": f"---\ndescription: {about} {n}\n---\n{body}" for n in range(20)}
    found |= {f".claude/commands/command{n}.md": f"---\ndescription: {about} {n}\n---\n{body}" for n in range(10)}
    front = "---\nname: agent{n}\ndescription: {about} {n}\n---\n"
    return found | {f".claude/agents/agent{n}.md": front.format(n=n, about=about) + body for n in range(5)}


def _bad_servers() -> str:
    servers: dict[str, object] = {}
    for number in range(5):
        dead = {"command": "/no/such/program"} if number % 2 else {"command": "/bin/false"}
        servers[f"dead{number}"] = dead
        servers[f"slow{number}"] = {"command": sys.executable, "args": ["-c", SLOW, str(number)]}
    return json.dumps({"mcpServers": servers})


if __name__ == "__main__":
    sys.exit(main())
