"""Fixture: this process as a program that embeds a session, whose model is the scripted one."""

from pathlib import Path

import pytest

from tests.modelserver.server import ModelServer


@pytest.fixture
def embedded(model: ModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The variables of this process lead to the scripted model; sessions run in `work`."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BOBSTAY_HOME", str(tmp_path / "home" / ".bobstay"))
    for provider, address in (("ANTHROPIC", "ANTHROPIC_BASE_URL"), ("GEMINI", "GOOGLE_GEMINI_BASE_URL")):
        monkeypatch.setenv(address, model.url)
        monkeypatch.setenv(f"{provider}_API_KEY", "dummy")
    monkeypatch.delenv("CLAUDE_CODE_ENTRYPOINT", raising=False)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("one\n")
