"""A context window that is too small for the work is reported, and never overrun in silence (H3-12)."""

import asyncio
import random

import PIL.Image
import pytest

from bobstay.http.client import HttpClient
from bobstay.model.event import Event, Noted, Pruned
from bobstay.model.live_events import TextDelta
from bobstay.model.message import Image, Text
from bobstay.providers import ollama as ollama_adapter
from bobstay.providers.ollama import Ollama
from tests.kit.scripted_session import MakeSession, ScriptedSession
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer


def ollama(make: MakeSession, model_id: str, path: str = "/ollama/v1", key: str = "") -> ScriptedSession:
    def adapter(http: HttpClient, url: str) -> Ollama:
        return Ollama(http, base_url=url + path, api_key=key)

    return make(allow=("Bash",), adapter=adapter, model=model_id)


@pytest.mark.parametrize(
    ("model_id", "window"),
    [("qwen3-4k", "4,096"), ("qwen3-8k:8b", "8,192"), ("old-qwen", "4,096"), ("configured-qwen", "8,192")],
)
async def test_a_small_window_is_reported_once_with_what_to_do(
    model: ModelServer, make_session: MakeSession, model_id: str, window: str
) -> None:
    session = ollama(make_session, model_id)
    await session.run(model.play("hello", Step(blocks=[Say("Hello.")])))
    (note,) = session.of(Noted)
    assert f"{model_id} with a context window of {window} tokens" in note.text
    assert "OLLAMA_CONTEXT_LENGTH=32768" in note.text
    await session.run("SCN:hello")
    assert session.of(Noted) == []
    assert len([asked for asked in model.others if asked.path == "/ollama/api/ps"]) == 1


async def test_a_window_that_is_large_enough_is_not_reported(model: ModelServer, make_session: MakeSession) -> None:
    session = ollama(make_session, "qwen3-32k")
    await session.run(model.play("hello", Step(blocks=[Say("Hello.")])))
    assert session.of(Noted) == []


async def test_a_server_that_does_not_tell_the_window_works_all_the_same(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = ollama(make_session, "qwen3", path="/v1")
    done = await session.run(model.play("hello", Step(blocks=[Say("Hello.")])))
    assert (done.text, session.of(Noted)) == ("Hello.", [])


@pytest.mark.parametrize("page", [b"no JSON", b"\xff", b'{"models": 5}', b"[" * 100_000], ids=range(4))
async def test_a_server_that_tells_nonsense_works_all_the_same(
    model: ModelServer, make_session: MakeSession, page: bytes
) -> None:
    model.pages["/ollama/api/ps"] = page
    session = ollama(make_session, "qwen3-4k")
    done = await session.run(model.play("hello", Step(blocks=[Say("Hello.")])))
    assert (done.text, session.of(Noted)) == ("Hello.", [])


async def test_the_answer_does_not_wait_for_the_look_at_the_window(
    model: ModelServer, make_session: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ollama_adapter, "_TIMEOUT", 600.0)
    gate = Gate()
    model.pages["/ollama/api/ps"] = gate
    session = ollama(make_session, "qwen3-4k")

    def release(event: Event) -> None:
        if isinstance(event, TextDelta):
            gate.open()

    async with asyncio.timeout(DEADLINE):
        done = await session.run(model.play("hello", Step(blocks=[Say("Hello.")])), release)
    assert done.text == "Hello."


async def test_a_server_that_never_tells_the_window_is_not_waited_for(
    model: ModelServer, make_session: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ollama_adapter, "_TIMEOUT", 0.1)
    model.pages["/ollama/api/ps"] = Gate()
    session = ollama(make_session, "qwen3-4k")
    async with asyncio.timeout(DEADLINE):
        done = await session.run(model.play("hello", Step(blocks=[Say("Hello.")])))
    assert (done.text, session.of(Noted)) == ("Hello.", [])


async def test_the_window_is_that_of_the_model_that_is_asked_and_its_server_is_given_the_key(
    model: ModelServer, make_session: MakeSession
) -> None:
    other = ollama(make_session, "qwen3-32k")
    await other.run(model.play("hello", Step(blocks=[Say("Hello.")])))
    await other.close()
    session = ollama(make_session, "qwen3-4k", key="ollama-key")
    await session.run("SCN:hello")
    assert "context window of 4,096 tokens" in session.of(Noted)[0].text
    assert model.others[-1].headers["authorization"] == "Bearer ollama-key"


async def test_what_fits_is_sent(model: ModelServer, make_session: MakeSession) -> None:
    session = ollama(make_session, "qwen3-8k")
    await session.run(model.play("hello", Step(blocks=[Say("Hello.")])))
    done = await session.run("word " * 3_000 + model.play("long", Step(blocks=[Say("I read it.")])))
    assert (done.ending, done.text) == ("completed", "I read it.")


async def test_what_cannot_fit_is_left_out_or_refused_and_not_cut_in_silence(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = ollama(make_session, "qwen3-4k")
    read = Step(blocks=[Call("Bash", {"command": "yes word | head -c 24000"})])
    done = await session.run(model.play("long", read, read, Step(blocks=[Say("Done.")])))
    assert done.ending == "prompt_too_long"
    assert "context window of 4,096 tokens" in done.text
    assert len(model.requests) < 3


async def test_an_image_is_not_measured_by_its_bytes(model: ModelServer, make_session: MakeSession) -> None:
    """It costs what its image costs, some hundred to two thousand tokens, however large its file is."""
    session = ollama(make_session, "qwen3-32k")
    await session.run(model.play("hello", Step(blocks=[Say("Hello.")])))
    image = Image("image/png", "aGk=" * 100_000)
    done = await session.run((Text(model.play("look", Step(blocks=[Say("A cat.")]))), image))
    assert (done.ending, done.text) == ("completed", "A cat.")
    PIL.Image.frombytes("RGB", (300, 300), random.Random(1).randbytes(270_000)).save(session.work / "noise.png")
    read = Step(blocks=[Call("Read", {"file_path": "noise.png"}, "r")])
    done = await session.run(model.play("read", read, Step(blocks=[Say("Noise.")])))
    assert len(model.requests[-1].raw) > 6 * 32_768
    assert (done.ending, done.text, session.of(Pruned)) == ("completed", "Noise.", [])
