"""The agents that are measured: ours, and those of the peers that are found in the folder BOBSTAY_PEERS."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec

OURS = "bobstay"
QUIET = {
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "PI_OFFLINE": "1",
    "PI_TELEMETRY": "0",
    "PI_SKIP_VERSION_CHECK": "1",
    "DO_NOT_TRACK": "1",
}
"""Switches that keep agents from talking to anybody but the model."""


class Contender(msgspec.Struct, frozen=True):
    """A coding agent and how it is run without a person. `{prompt}` and `{base}` are filled in."""

    name: str
    program: str
    arguments: list[str]
    environment: dict[str, str] = {}
    files: dict[str, str] = {}
    """What its home holds: path below it and text."""
    reads: bool = True
    """Has a tool for reading a file (else only a shell)."""
    version: str = ""

    def command(self, prompt: str, base: str) -> list[str]:
        return [self.program, *(word.format(prompt=prompt, base=base) for word in self.arguments)]

    def environment_for(self, home: Path, base: str, search: str) -> dict[str, str]:
        """The whole environment of a run: nothing of ours is inherited."""
        plain = {"PATH": search, "HOME": str(home), "LANG": "C.UTF-8", "TERM": "xterm-256color", "SHELL": "/bin/bash"}
        own = {name: value.format(base=base, home=home) for name, value in self.environment.items()}
        return plain | QUIET | own


def ours(program: str = "") -> Contender:
    return Contender(
        name=OURS,
        program=program or str(Path(sys.executable).with_name("bobstay")),
        arguments=["-p", "{prompt}", "--allowedTools", "Read,Bash", "--model", "claude-sonnet-4-5"],
        environment={
            "ANTHROPIC_BASE_URL": "{base}",
            "ANTHROPIC_API_KEY": "sk-dummy",
            "BOBSTAY_HOME": "{home}/.bobstay",
        },
    )


def found(folder: str) -> list[Contender]:
    """The peers installed below `folder` as `npm/<name>` (see docs/benchmarks.md)."""
    if not folder:
        return []
    npm = Path(folder) / "npm"
    candidates = [
        (_claude, "claude/node_modules/@anthropic-ai/claude-code-*/claude"),
        (_codex, "codex/node_modules/@openai/codex-*/vendor/*/bin/codex"),
        (_pi, "pi/node_modules/.bin/pi"),
    ]
    peers = []
    for make, pattern in candidates:
        programs = sorted(path for path in npm.glob(pattern) if os.access(path, os.X_OK))
        if programs:
            peers.append(make(str(programs[0])))
    return peers


def search_path(folder: str) -> str:
    """PATH for every run: a Node.js found beside the peers first, since some need a newer one than the system's."""
    nodes = sorted(Path(folder).glob("npm/node*/node_modules/node-*/bin/node")) if folder else []
    return ":".join([*(str(node.parent) for node in nodes[-1:]), "/usr/local/bin", "/usr/bin", "/bin"])


def with_version(contender: Contender, home: Path, search: str) -> Contender:
    """The same with what it says its version is."""
    environment = contender.environment_for(home, "http://127.0.0.1:9", search)
    told = subprocess.run(
        [contender.program, "--version"],
        env=environment,
        cwd=home,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    words = [word for word in (told.stdout + told.stderr).split() if word[:1].isdigit() and "." in word]
    return msgspec.structs.replace(contender, version=words[0] if words else "?")


def _claude(program: str) -> Contender:
    return Contender(
        name="claude",
        program=program,
        arguments=["-p", "{prompt}", "--allowedTools", "Read,Bash", "--model", "claude-sonnet-4-5"],
        environment={"ANTHROPIC_BASE_URL": "{base}", "ANTHROPIC_API_KEY": "sk-dummy"},
    )


def _codex(program: str) -> Contender:
    settings = """
model = "gpt-5"
model_provider = "bench"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[model_providers.bench]
name = "bench"
base_url = "{base}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
[analytics]
enabled = false
"""
    return Contender(
        name="codex",
        program=program,
        arguments=["exec", "--skip-git-repo-check", "{prompt}"],
        environment={"OPENAI_API_KEY": "sk-dummy"},
        files={".codex/config.toml": settings},
        reads=False,
    )


def _pi(program: str) -> Contender:
    free = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    sizes = {"contextWindow": 200_000, "maxTokens": 8192, "cost": free}
    model = {"id": "fake-model", "name": "fake", "reasoning": False, "input": ["text"], **sizes}
    provider = {"baseUrl": "{base}", "api": "anthropic-messages", "apiKey": "sk-dummy", "models": [model]}
    return Contender(
        name="pi",
        program=program,
        arguments=["--provider", "bench", "--model", "fake-model", "-p", "{prompt}"],
        files={".pi/agent/models.json": msgspec.json.encode({"providers": {"bench": provider}}).decode()},
    )
