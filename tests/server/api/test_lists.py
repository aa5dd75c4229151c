"""All lists keep to the same rules: where they end, how much one may ask for, what is refused with which words."""

from typing import Any

import pytest
from msgspec.structs import replace

from bobstay.server.api.endpoint import Endpoint
from bobstay.server.api.endpoints import ENDPOINTS
from bobstay.server.api.json_schemas import fields_of
from tests.kit.consoles import RunningConsole
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

API = "/api/v1"
LIMITED = [one for one in ENDPOINTS if one.query is not None and "limit" in one.query.__struct_fields__]


def limits_of(endpoint: Endpoint) -> tuple[int, int]:
    (schema,) = [schema for name, schema, _ in fields_of(endpoint.query) if name == "limit"]
    return schema["minimum"], schema["maximum"]


async def test_the_last_page_of_every_list_says_null(server: RunningConsole) -> None:
    id = await server.launch()
    for path, name in (
        ("/sessions?limit=1", "cursor"),
        ("/search?q=nothing", "cursor"),
        ("/interactions?state=all", "cursor"),
        ("/interactions", "cursor"),
        ("/audit?limit=500", "before"),
        (f"/sessions/{id}/rows", "before"),
    ):
        reply = await server.get(API + path)
        assert (reply.status, reply.json[name]) == (200, None), path


async def test_a_limit_out_of_range_is_refused_with_the_range(server: RunningConsole) -> None:
    id = await server.launch()
    assert len(LIMITED) >= 8
    for endpoint in LIMITED:
        least, most = limits_of(endpoint)
        path = API + endpoint.path.replace("{id}", id)
        for limit in (-5, 0, most + 1):
            reply = await server.get(f"{path}?limit={limit}&cwd={server.work}")
            error = reply.json["error"]
            assert (reply.status, error["code"]) == (422, "invalid"), path
            assert f"`limit` must be from {least} to {most}" in error["message"]
            assert error["details"] == {"field": "limit", "minimum": least, "maximum": most}
        assert (await server.get(f"{path}?limit={most}&cwd={server.work}")).status == 200, path


async def test_a_status_that_does_not_exist_is_refused_with_those_that_do(server: RunningConsole) -> None:
    id = await server.launch()
    reply = await server.get(f"{API}/sessions?status=draft,nonsense")
    error = reply.json["error"]
    assert (reply.status, error["code"]) == (422, "invalid")
    assert "nonsense" in error["message"]
    assert "waiting_input" in error["message"]
    assert error["details"]["allowed"] == [
        *("draft", "starting", "running", "waiting_input", "interrupting", "interrupted", "completed", "failed"),
    ]
    for status, found in (("draft,running", [id]), ("running", []), ("draft,", [id]), ("", [id])):
        listed = (await server.get(f"{API}/sessions?status={status}")).json["sessions"]
        assert [each["id"] for each in listed] == found, status


async def test_sessions_that_changed_at_the_same_moment_are_each_on_one_page(server: RunningConsole) -> None:
    ids = [await server.launch() for _ in range(6)]
    for id in ids:
        server.registry.update_view(replace(server.view(id), updated_at=1_700_000_000.25))
    for limit in (1, 4):
        seen: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            page = (await server.get(f"{API}/sessions?limit={limit}&cursor={cursor}")).json
            seen += [each["id"] for each in page["sessions"]]
            cursor = page["cursor"]
        assert sorted(seen) == sorted(ids)


async def asking(server: RunningConsole, model: ModelServer, name: str) -> Any:
    """The session and the interaction of a request to run `touch NAME`."""
    call = Call("Bash", {"command": f"touch {name}"}, "c")
    prompt = model.play(name, Step(blocks=[call]), Step(blocks=[Say("ok")]))
    view = await server.until_status(await server.launch(prompt, title=name), "waiting_input")
    return view.id, view.interactions[0]


async def test_decided_interactions_are_listed_with_who_decided_what(
    server: RunningConsole, model: ModelServer
) -> None:
    first, allowed = await asking(server, model, "one")
    second, denied = await asking(server, model, "two")
    third, waiting = await asking(server, model, "three")
    for entry, more in (
        (allowed, {"decision": "allow", "input": {"command": "touch other"}}),
        (denied, {"decision": "deny", "reason": "not now"}),
    ):
        body = {"input_sha256": entry.input_sha256, **more}
        assert (await server.post(f"{API}/interactions/{entry.id}/decision", body)).status == 200
    await server.until_status(first, "completed")
    await server.until_status(second, "completed")

    async def listed(query: str) -> Any:
        reply = await server.get(f"{API}/interactions?{query}")
        assert reply.status == 200, reply.body
        return reply.json

    assert [item["summary"]["id"] for item in (await listed(""))["interactions"]] == [waiting.id]
    decided = (await listed("state=decided"))["interactions"]
    assert [item["summary"]["id"] for item in decided] == [denied.id, allowed.id]
    assert (decided[0]["session_id"], decided[0]["session_title"], decided[0]["cwd"]) == (
        second,
        "two",
        str(server.work),
    )
    assert decided[0]["opened"]["call"]["input"] == {"command": "touch two"}
    outcomes = [item["outcome"] for item in decided]
    assert [(one["outcome"], one["by"], one["message"]) for one in outcomes] == [
        ("denied", "ada", "not now"),
        ("allowed", "ada", ""),
    ]
    assert [one["input"] for one in outcomes] == [None, {"command": "touch other"}]
    assert all(one["at"] >= item["summary"]["opened_at"] for one, item in zip(outcomes, decided, strict=True))

    everything = await listed("state=all&limit=2")
    assert [item["summary"]["id"] for item in everything["interactions"]] == [waiting.id, denied.id]
    assert everything["interactions"][0]["outcome"] is None
    rest = await listed(f"state=all&limit=2&cursor={everything['cursor']}")
    assert ([item["summary"]["id"] for item in rest["interactions"]], rest["cursor"]) == ([allowed.id], None)
    assert [item["session_id"] for item in (await listed(f"state=all&session_id={third}"))["interactions"]] == [third]

    for query in ("state=nonsense", "state=all&cursor=nonsense"):
        refused = await server.get(f"{API}/interactions?{query}")
        assert (refused.status, refused.json["error"]["code"]) == (422, "invalid"), query


@pytest.mark.parametrize("cursor", ["nonsense", "nan_x", "inf_x", "-inf_x", "_", "1e999_x"])
async def test_a_cursor_of_nobodys_making_is_refused_instead_of_an_empty_page(
    server: RunningConsole, cursor: str
) -> None:
    await server.launch()
    refused = await server.get(f"{API}/sessions?cursor={cursor}")
    assert (refused.status, refused.json["error"]["code"]) == (422, "invalid")


async def test_a_session_that_changes_between_two_pages_is_on_the_first_one_again(server: RunningConsole) -> None:
    first, second, third = [await server.launch() for _ in range(3)]
    page = (await server.get(f"{API}/sessions?limit=1")).json
    assert [each["id"] for each in page["sessions"]] == [third]
    await server.ask("PATCH", f"{API}/sessions/{first}", {"title": "changed"})
    rest = (await server.get(f"{API}/sessions?cursor={page['cursor']}")).json
    assert [each["id"] for each in rest["sessions"]] == [second]
    again = (await server.get(f"{API}/sessions?limit=1")).json
    assert [each["id"] for each in again["sessions"]] == [first]
