"""The five workflow modes: their prompts and the tools they deny (S000-37..43)."""

import time

import pytest

from bobstay.model.session_events import SessionConfig
from bobstay.server.workflows import MODES, allows_mode, denied_tools, permission_mode, system_text

SAID = {
    "research": ("not propose", "path:line", "Glob", "Grep", "Read", "summary"),
    "plan": ("Overview", "Current State", "Desired End State", "What We're NOT Doing", "Phases", "verification", "ask"),
    "review_plan": ("phase by phase", "Status: Ready", "Needs Revision", "improvements"),
    "implement": ("one phase at a time", "Stop", "tick", "Never skip", "verification"),
}
LOOKING = ("research", "plan", "review_plan")


def test_there_are_five_modes_with_their_labels_and_descriptions() -> None:
    """S000-37, in the words of the seed."""
    assert {name: (mode.label, mode.description) for name, mode in MODES.items()} == {
        "chat": ("Chat", "General conversation"),
        "research": ("Research", "Investigate codebase"),
        "plan": ("Plan", "Create implementation plan"),
        "review_plan": ("Review Plan", "Validate existing plan"),
        "implement": ("Implement", "Execute plan step by step"),
    }


@pytest.mark.parametrize("workflow", SAID)
def test_a_mode_tells_the_model_how_to_work(workflow: str) -> None:
    """S000-38..42: its words come after those of the session."""
    config = SessionConfig(workflow=workflow, append_system_prompt="Be brief.")  # type: ignore[arg-type]  # a literal
    text = system_text(config)
    assert text.startswith("Be brief.")
    assert all(message in text for message in SAID[workflow]), text


def test_chat_leaves_the_prompt_as_it_is() -> None:
    """S000-38."""
    assert system_text(SessionConfig()) == ""


@pytest.mark.parametrize("workflow", LOOKING)
@pytest.mark.parametrize("mode", ["acceptEdits", "bypassPermissions", "auto"])
def test_a_mode_that_only_looks_takes_writing_away(workflow: str, mode: str) -> None:
    """S000-43: whatever else the session is allowed."""
    config = SessionConfig(workflow=workflow, permission_mode=mode, bypass_until=time.time() + 60)  # type: ignore[arg-type]  # a literal
    assert {"Edit", "Write", "NotebookEdit"} <= set(denied_tools(config))
    assert permission_mode(config) in ("default", "plan")
    assert not allows_mode(config, mode)


def test_others_keep_the_mode_they_were_given() -> None:
    assert permission_mode(SessionConfig(workflow="implement", permission_mode="acceptEdits")) == "acceptEdits"
    assert denied_tools(SessionConfig(workflow="implement")) == ()
