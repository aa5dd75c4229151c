"""A request for a session that cannot start is refused, and leaves none behind."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bobstay.permissions.mode import MODES
from bobstay.server.api.endpoints import ENDPOINTS
from bobstay.server.api.openapi import document
from tests.kit.consoles import RunningConsole
from tests.modelserver.server import ModelServer

REFUSED = [
    ({"model": "nowhere/nothing"}, "model"),
    ({"model": "gpt-5.5"}, "model"),
    ({"engine": "nothing"}, "engine"),
    ({"engine": "missing"}, "engine"),
]


@pytest.mark.parametrize(("wrong", "field"), REFUSED, ids=str)
async def test_what_cannot_start_leaves_no_session(
    model: ModelServer, tmp_path: Path, wrong: dict[str, Any], field: str
) -> None:
    async with RunningConsole(model, tmp_path, engines={"missing": ("/nowhere/engine",)}) as server:
        body = {"cwd": str(server.work), "prompt": "hello", **wrong}
        for _ in range(2):
            refused = await server.post("/api/v1/sessions", body)
            assert refused.status == 422, refused.body
            assert refused.json["error"]["details"]["field"] == field
        assert (await server.get("/api/v1/sessions")).json["sessions"] == []
        assert list((tmp_path / "bobstay").glob("sessions/*")) == []


async def test_a_mode_that_does_not_exist_leaves_no_session(server: RunningConsole) -> None:
    body = {"cwd": str(server.work), "prompt": "hello", "permission_mode": "dontask"}
    refused = await server.post("/api/v1/sessions", body)
    assert refused.status == 422
    assert "permission_mode" in refused.json["error"]["message"]
    assert (await server.get("/api/v1/sessions")).json["sessions"] == []


async def test_without_any_key_the_answer_names_a_remedy_of_the_page(model: ModelServer, tmp_path: Path) -> None:
    server = RunningConsole(model, tmp_path)
    server.environment = replace(server.environment, keys={}, model="")
    async with server:
        for name, missing in (("", "anthropic"), ("gpt-5.5", "openai")):
            refused = await server.post("/api/v1/sessions", {"cwd": str(server.work), "prompt": "hello", "model": name})
            error = refused.json["error"]
            assert (refused.status, error["details"]) == (422, {"field": "model", "missing_key": missing})
            assert "--" not in error["message"]
            assert "Settings" in error["message"]
        assert (await server.get("/api/v1/sessions")).json["sessions"] == []


async def test_going_on_with_a_model_that_cannot_be_reached_leaves_no_child(server: RunningConsole) -> None:
    id = await server.launch("hello", model="demo")
    await server.until_status(id, "completed")
    refused = await server.post(f"/api/v1/sessions/{id}/continue", {"prompt": "more", "model": "nowhere/nothing"})
    assert refused.status == 422
    assert [view["id"] for view in (await server.get("/api/v1/sessions")).json["sessions"]] == [id]


def test_the_permission_modes_are_listed_in_the_document() -> None:
    schemas = document(ENDPOINTS)["components"]["schemas"]
    assert set(schemas["NewSession"]["properties"]["permission_mode"]["enum"]) == {"", *MODES}
    assert set(schemas["SessionChange"]["properties"]["permission_mode"]["enum"]) == set(MODES)
