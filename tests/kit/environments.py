"""The environment variables with which tests run programs and consoles: nothing of the tester's own gets through."""

import os
from pathlib import Path

from tests.modelserver.server import ModelServer

KEY = "sk-ant-this-is-a-dummy-key-for-tests"
PATH = "/usr/local/bin:/usr/bin:/bin"
WITHOUT_NETWORK = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
}
"""What keeps `claude` from asking anybody but the model."""


def model_variables(model: ModelServer, key: str = KEY) -> dict[str, str]:
    """Those that lead to the scripted model."""
    return {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": key}


def console_variables(folder: Path, model: ModelServer | None = None, key: str = KEY) -> dict[str, str]:
    """Those of a console with its state in `folder`."""
    found = {"HOME": str(folder), "BOBSTAY_HOME": str(folder / "bobstay"), "PATH": PATH}
    if model is None:
        return found
    return {**found, **model_variables(model, key), "BOBSTAY_MODEL": "sonnet", **WITHOUT_NETWORK}


def engine_variables(
    home: Path, model: ModelServer | None = None, key: str = "dummy-k3y-of-n0-worth"
) -> dict[str, str]:
    """Those of an engine's process; it finds what the tester's own processes find."""
    home.mkdir(exist_ok=True)
    found = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "ANTHROPIC_API_KEY": key,
        "CLAUDE_CODE_MAX_RETRIES": "1",
        **WITHOUT_NETWORK,
    }
    return found if model is None else {**found, **model_variables(model, key)}
