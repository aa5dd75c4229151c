"""Keys of model providers, the default model and local servers, over HTTP."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.kit.consoles import RunningConsole
from tests.kit.web_server import serving
from tests.modelserver.server import ModelServer

KEY = "sk-test-0123456789abcdefghijklmnop"
REFUSAL = b'{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}'
BEGIN = b'{"type":"message_start","message":{"id":"m","model":"x","usage":{"input_tokens":1,"output_tokens":1}}}'


class Bare(RunningConsole):
    """A console without any key."""

    def __init__(self, model: ModelServer, folder: Path, **keys: str) -> None:
        super().__init__(model, folder)
        self.environment = replace(self.environment, keys=keys, all_variables=dict(keys), model="")

    async def provider(self, name: str) -> dict[str, Any]:
        listed = (await self.get("/api/v1/providers")).json["providers"]
        found: dict[str, Any] = next(each for each in listed if each["name"] == name)
        return found


async def test_a_stored_key_connects_a_model_and_is_never_shown(model: ModelServer, tmp_path: Path) -> None:
    async with Bare(model, tmp_path, ANTHROPIC_BASE_URL=model.url) as bare:
        assert (await bare.get("/api/v1/config")).json["default_model"] == ""
        assert (await bare.provider("anthropic"))["key"] == "none"
        stored = await bare.ask("PUT", "/api/v1/providers/anthropic/key", {"key": KEY})
        assert stored.status == 200
        row = await bare.provider("anthropic")
        assert (row["key"], row["stored"], row["local"]) == ("stored", True, False)
        assert (await bare.get("/api/v1/config")).json["default_model"] == "default"
        session = await bare.launch("hello")
        await bare.until_status(session, "completed", "failed")
        assert model.requests[-1].headers["x-api-key"] == KEY
        shown = [stored.text]
        for path in ("/providers", "/config", "/audit", f"/sessions/{session}/events"):
            shown.append((await bare.get(f"/api/v1{path}")).text)
        assert not any(KEY in text for text in shown)
        assert stat.S_IMODE((tmp_path / "bobstay" / "keys.json").stat().st_mode) == 0o600
        assert (await bare.ask("DELETE", "/api/v1/providers/anthropic/key")).status == 200
        assert (await bare.provider("anthropic"))["key"] == "none"
    others = [path for path in (tmp_path / "bobstay").rglob("*") if path.is_file()]
    assert not [path for path in others if KEY.encode() in path.read_bytes()]


async def test_a_key_of_the_environment_is_named_by_its_variable(model: ModelServer, tmp_path: Path) -> None:
    async with Bare(model, tmp_path, OPENAI_API_KEY=KEY) as bare:
        row = await bare.provider("openai")
        assert (row["key"], row["source"], row["stored"]) == ("environment", "OPENAI_API_KEY", False)


async def test_a_key_is_tested_by_a_request_to_the_provider(model: ModelServer, tmp_path: Path) -> None:
    async with serving() as site, Bare(model, tmp_path, ANTHROPIC_BASE_URL=site.url) as bare:
        site.answers["/v1/messages"] = (
            b"HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(REFUSAL)
        ) + REFUSAL
        path = "/api/v1/providers/anthropic/test"
        assert (await bare.post(path, {})).json == {"accepted": False, "problem": "There is no key to test."}
        refused = (await bare.post(path, {"key": KEY})).json
        assert (refused["accepted"], KEY in refused["problem"]) == (False, False)
        assert refused["problem"].startswith("The key was refused: invalid x-api-key. Check that it was copied")
        site.page("/v1/messages", b"event: message_start\ndata: " + BEGIN + b"\n\n", "text/event-stream")
        await bare.ask("PUT", "/api/v1/providers/anthropic/key", {"key": KEY})
        assert (await bare.post(path, {})).json == {"accepted": True, "problem": ""}
        assert [heard.headers["x-api-key"] for heard in site.received] == [KEY, KEY]


async def test_a_default_model_is_written_to_the_settings_and_used(model: ModelServer, tmp_path: Path) -> None:
    async with Bare(model, tmp_path) as bare:
        settings = tmp_path / "bobstay" / "settings.json"
        settings.write_text('{"language": "French"}')
        refused = await bare.ask("PUT", "/api/v1/default-model", {"model": "sonnet"})
        assert (refused.status, refused.json["error"]["details"]["field"]) == (422, "model")
        chosen = await bare.ask("PUT", "/api/v1/default-model", {"model": "demo"})
        assert (chosen.json["default_model"], chosen.json["chosen_model"]) == ("demo", "demo")
        assert json.loads(settings.read_text()) == {"language": "French", "model": "demo"}
        assert (await bare.get("/api/v1/config")).json["default_model"] == "demo"
        session = await bare.launch("hello")
        assert (await bare.until_status(session, "completed")).model == "demo"
        await bare.ask("PUT", "/api/v1/default-model", {"model": ""})
        assert json.loads(settings.read_text()) == {"language": "French"}


async def test_local_servers_are_found_where_they_answer(model: ModelServer, tmp_path: Path) -> None:
    """As GET /v1/models of Ollama (docs/openai.md in ollama/ollama, 2026) and of OpenAI's reference answers."""
    listed = {"object": "list", "data": [{"id": "qwen3:8b", "object": "model", "owned_by": "library"}]}
    async with serving() as site:
        site.page("/v1/models", json.dumps(listed).encode(), "application/json")
        site.page("/strange/models", b"<html>another program</html>", "text/html")
        elsewhere = {
            "OLLAMA_HOST": site.url,
            "VLLM_BASE_URL": f"{site.url}/strange",
            "LMSTUDIO_BASE_URL": "http://127.0.0.1:9/v1",
            "LLAMACPP_BASE_URL": f"{site.url}/nothing/v1",
        }
        async with Bare(model, tmp_path, **elsewhere) as bare:
            found = (await bare.post("/api/v1/local-models")).json["servers"]
    assert [(each["provider"], each["models"]) for each in found] == [("ollama", ["ollama/qwen3:8b"])]


@pytest.mark.parametrize("key", ["", "two words", "line\nbreak", "k\u00e9y", "x" * 20_001])
async def test_what_is_no_key_is_not_stored(model: ModelServer, tmp_path: Path, key: str) -> None:
    async with Bare(model, tmp_path) as bare:
        refused = await bare.ask("PUT", "/api/v1/providers/anthropic/key", {"key": key})
        assert refused.status == 422
        assert not key.strip() or key not in refused.text
        assert not (tmp_path / "bobstay" / "keys.json").exists()


async def test_only_an_administrator_sees_or_changes_keys(server: RunningConsole) -> None:
    few = await server.token("read", "operate", "approve")
    asked = [
        ("GET", "/providers", None),
        ("PUT", "/providers/anthropic/key", {"key": KEY}),
        ("DELETE", "/providers/anthropic/key", None),
        ("POST", "/providers/anthropic/test", {}),
        ("PUT", "/default-model", {"model": "demo"}),
        ("POST", "/local-models", {}),
    ]
    for method, path, body in asked:
        assert (await server.ask(method, f"/api/v1{path}", body, headers=few)).status == 403, path
