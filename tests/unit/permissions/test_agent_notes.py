"""Notes in an agent's memory: Markdown files that are edited like those of the project, and nothing else (H7-2)."""

from pathlib import Path

import pytest

from bobstay.permissions.access import Access, Effect
from bobstay.permissions.policy import Policy


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / ".claude/agent-memory/w"
    folder.mkdir(parents=True)
    return folder


def edits(memory: Path, path: Path | str) -> bool:
    """Whether an agent in acceptEdits mode may write a file without asking."""
    policy = Policy("acceptEdits", root=str(memory.parents[2]), home="/home/dev")
    policy.memory = str(memory)
    access = (Access("write", str(path)),)
    return policy.judge("Write", access, {"file_path": str(path)}, read_only=False).effect is Effect.ALLOW


@pytest.mark.parametrize("name", ["MEMORY.md", "api/errors.md", "../w/x.md"])
def test_a_note_is_written_without_asking(memory: Path, name: str) -> None:
    assert edits(memory, f"{memory}/{name}")


@pytest.mark.parametrize(
    "name",
    [
        "run.sh",
        "../other/x.md",
        "../../commands/x.md",
        ".claude/skills/s/SKILL.md",
        "deep/.claude/commands/x.md",
        ".bobstay/agents/x.md",
        ".git/x.md",
        ".CLAUDE/skills/s/SKILL.md",
    ],
)
def test_what_could_run_is_asked_about(memory: Path, name: str) -> None:
    assert not edits(memory, f"{memory}/{name}")


def test_a_link_out_of_the_memory_is_asked_about(memory: Path) -> None:
    (memory / "x.md").symlink_to(memory.parents[1] / "settings.json")
    assert not edits(memory, memory / "x.md")


def test_a_memory_that_became_a_link_is_asked_about(memory: Path) -> None:
    memory.rmdir()
    commands = memory.parents[1] / "commands"
    commands.mkdir()
    memory.symlink_to(commands)
    assert not edits(memory, memory / "x.md")
    assert not edits(memory, commands / "x.md")
