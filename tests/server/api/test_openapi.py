"""The OpenAPI document: whole, valid, up to date, and only for those who may read."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from msgspec import Struct

from bobstay.model.event import Noted
from bobstay.server.api.dispatch import json_response as answer
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.api.endpoints import AT_ROOT, ENDPOINTS, current_document
from bobstay.server.api.json_schemas import fields_of
from bobstay.server.api.openapi import document, stream_schema
from bobstay.server.errors import CODES, STATUS
from tests.kit.consoles import RunningConsole
from tests.modelserver.script import Say, Step
from tests.modelserver.server import ModelServer

ROOT = Path(__file__).resolve().parents[3]
METHODS = {(endpoint.method, re.sub(r"{(\w+):\w+}", r"{\1}", endpoint.path)) for endpoint in ENDPOINTS}


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method.upper(), path, operation)
        for path, methods in current_document()["paths"].items()
        for method, operation in methods.items()
    ]


@pytest.mark.parametrize(("name", "made"), [("openapi.json", current_document), ("stream.schema.json", stream_schema)])
def test_the_file_that_is_checked_in_is_up_to_date(name: str, made: Any) -> None:
    assert (ROOT / "docs" / name).read_text() == json.dumps(made(), indent=1) + "\n", "run scripts/make_openapi.py"


def test_the_types_of_the_page_have_all_paths_and_fields() -> None:
    """Their generator is not installed here, so names are compared and not files."""
    spec, types = current_document(), (ROOT / "web/src/gen/api.ts").read_text()
    paths, _, rest = types.partition("\nexport type webhooks")
    assert set(re.findall(r'^    "(.+)": {$', paths, re.MULTILINE)) == spec["paths"].keys(), "run make api"
    parts = re.split(r"^        (\w+): ", rest.partition("\n    responses: {")[0], flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert found.keys() == spec["components"]["schemas"].keys(), "run make api"
    for name, schema in spec["components"]["schemas"].items():
        fields = set(re.findall(r'^            "?([\w$-]+)"?\??: ', found[name], re.MULTILINE))
        assert fields == schema.get("properties", {}).keys(), f"{name}: run make api"


def test_every_endpoint_is_described() -> None:
    found = {(method, path) for method, path, _ in operations()}
    assert found == METHODS
    assert all(operation["summary"].endswith(".") for *_, operation in operations())


def test_names_of_operations_are_unique_and_say_no_word_twice() -> None:
    names = [operation["operationId"] for *_, operation in operations()]
    assert len(names) == len(set(names))
    for name in names:
        text = [word.removesuffix("s") for word in name.split("_")]
        assert len(text) == len(set(text)), name


def test_every_operation_and_every_parameter_is_described() -> None:
    missing: list[str] = []
    for method, path, operation in operations():
        described = {"": operation.get("description", "")}
        described |= {one["name"]: one.get("description", "") for one in operation.get("parameters", ())}
        missing += [f"{method} {path} {name}" for name, text in described.items() if not text.endswith(".")]
    assert missing == []


def test_all_pointers_lead_somewhere() -> None:
    spec = current_document()
    for pointer in set(re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(spec))):
        node: Any = spec
        for step in pointer.split("/"):
            assert step in node, pointer
            node = node[step]


def test_all_schemas_are_schemas() -> None:
    for schema in current_document()["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_every_answer_has_its_codes_under_their_status() -> None:
    for name, response in current_document()["components"]["responses"].items():
        status = int(name[6:9])
        codes = response["content"]["application/json"]["schema"]["allOf"][1]
        listed = codes["properties"]["error"]["properties"]["code"]["enum"]
        assert listed
        assert {STATUS[code] for code in listed} == {status}
        assert set(listed) <= set(CODES)


def test_whoever_must_be_known_is_told_so() -> None:
    for endpoint in ENDPOINTS:
        path = re.sub(r"{(\w+):\w+}", r"{\1}", endpoint.path)
        operation = current_document()["paths"][path][endpoint.method.lower()]
        named = [scopes for way in operation["security"] for scopes in way.values()]
        assert named == ([] if endpoint.scope is None else [[endpoint.scope]] * 2)


class Asked(Struct, frozen=True):
    needed: int
    limit: int = 10
    """How many."""


class Thing(Struct, frozen=True):
    text: str
    more: str = ""


async def do(call: ApiCall) -> Thing:
    """Do something."""
    return Thing("x")


def test_queries_bodies_and_answers_become_schemas() -> None:
    made = document((Endpoint("POST", "/things/{id}", do, "operate", Thing, Asked, Thing, 201, ("conflict",)),))
    operation = made["paths"]["/things/{id}"]["post"]
    assert [(one["name"], one["in"], one["required"]) for one in operation["parameters"]] == [
        ("id", "path", True),
        ("needed", "query", True),
        ("limit", "query", False),
        ("Idempotency-Key", "header", False),
    ]
    assert operation["parameters"][2]["description"] == "How many."
    assert operation["description"] == "Do something. Needs the scope `operate`."
    assert operation["responses"]["201"]["content"]["application/json"]["schema"]["$ref"].endswith("/Thing")
    assert {"409", "404", "413", "415", "422", "401", "403"} <= set(operation["responses"])
    assert made["components"]["schemas"]["Thing"]["required"] == ["text"], "it is read too: a default may be left out"


def test_in_what_only_we_write_every_field_is_there() -> None:
    made = document((Endpoint("GET", "/things", do, returns=Thing),))
    assert made["components"]["schemas"]["Thing"]["required"] == ["text", "more"]
    assert [name for name, _, required in fields_of(Asked) if required] == ["needed"]


async def test_it_is_served_to_those_who_may_read(server: RunningConsole) -> None:
    reader = await server.token("read")
    for path in ("/openapi.json", "/api/v1/openapi.json"):
        assert (await server.get(path, headers={})).status == 401
        reply = await server.get(path, headers=reader)
        assert (reply.status, reply.json["openapi"]) == (200, "3.1.0")


async def test_a_wrong_method_is_told_the_right_ones(server: RunningConsole) -> None:
    reply = await server.ask("PUT", "/api/v1/sessions/x")
    assert (reply.status, reply.json["error"]["code"]) == (405, "method_not_allowed")
    assert reply.headers["allow"] == "DELETE, GET, HEAD, PATCH"


async def test_what_is_said_on_a_stream_is_as_its_schema_says(server: RunningConsole, model: ModelServer) -> None:
    """Frames of a whole session, against the schema that browsers' types are made from."""
    id = await server.launch(model.play("one", Step(blocks=[Say("hello")])))
    await server.until_status(id, "completed")
    spec = stream_schema()
    validator = Draft202012Validator({**spec["components"]["schemas"]["StreamFrame"], "components": spec["components"]})
    from bobstay.server.streams.stream_frames import durable

    frames = [json.loads(durable(id, envelope)) for envelope in server.registry.reader(id).read()]
    assert len(frames) > 5
    for frame in frames:
        assert not list(validator.iter_errors(frame)), frame
    assert list(validator.iter_errors({**frames[0], "type": "dance"})), "the schema refuses something"
    assert answer(Noted("x")).body


def test_what_has_no_prefix_is_the_same() -> None:
    assert [endpoint.path for endpoint in AT_ROOT] == ["/health", "/metrics", "/openapi.json"]
