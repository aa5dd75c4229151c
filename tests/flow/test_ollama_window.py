"""A context window that is too small for the work is reported, and never overrun in silence (H3-12)."""

import asyncio
import random
from collections.abc import Callable

import PIL.Image
import pytest

from bobstay.http.client import HttpClient
from bobstay.model.event import Event, Noted, Pruned
from bobstay.model.live_events import TextDelta
from bobstay.model.message import Image, Text
from bobstay.providers import ollama as ollama_adapter
from bobstay.providers.ollama import Ollama
from tests.deadline import DEADLINE
from tests.flow.world import World
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer

Make = Callable[..., World]


def ollama(make: Make, model: str, path: str = "/ollama/v1", key: str = "") -> World:
    def adapter(http: HttpClient, url: str) -> Ollama:
        return Ollama(http, base_url=url + path, api_key=key)

    return make(allow=("Bash",), adapter=adapter, model=model)


@pytest.mark.parametrize(
    ("model", "window"),
    [("qwen3-4k", "4,096"), ("qwen3-8k:8b", "8,192"), ("old-qwen", "4,096"), ("configured-qwen", "8,192")],
)
async def test_a_small_window_is_reported_once_with_what_to_do(
    server: ModelServer, world: Make, model: str, window: str
) -> None:
    here = ollama(world, model)
    await here.run(server.play("hello", Step(blocks=[Say("Hello.")])))
    (note,) = here.of(Noted)
    assert f"{model} with a context window of {window} tokens" in note.text
    assert "OLLAMA_CONTEXT_LENGTH=32768" in note.text
    await here.run("SCN:hello")
    assert here.of(Noted) == []
    assert len([asked for asked in server.others if asked.path == "/ollama/api/ps"]) == 1


async def test_a_window_that_is_large_enough_is_not_reported(server: ModelServer, world: Make) -> None:
    here = ollama(world, "qwen3-32k")
    await here.run(server.play("hello", Step(blocks=[Say("Hello.")])))
    assert here.of(Noted) == []


async def test_a_server_that_does_not_tell_the_window_works_all_the_same(server: ModelServer, world: Make) -> None:
    here = ollama(world, "qwen3", path="/v1")
    done = await here.run(server.play("hello", Step(blocks=[Say("Hello.")])))
    assert (done.text, here.of(Noted)) == ("Hello.", [])


@pytest.mark.parametrize("page", [b"no JSON", b"\xff", b'{"models": 5}', b"[" * 100_000], ids=range(4))
async def test_a_server_that_tells_nonsense_works_all_the_same(server: ModelServer, world: Make, page: bytes) -> None:
    server.pages["/ollama/api/ps"] = page
    here = ollama(world, "qwen3-4k")
    done = await here.run(server.play("hello", Step(blocks=[Say("Hello.")])))
    assert (done.text, here.of(Noted)) == ("Hello.", [])


async def test_the_answer_does_not_wait_for_the_look_at_the_window(
    server: ModelServer, world: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ollama_adapter, "_TIMEOUT", 600.0)
    gate = Gate()
    server.pages["/ollama/api/ps"] = gate
    here = ollama(world, "qwen3-4k")

    def release(event: Event) -> None:
        if isinstance(event, TextDelta):
            gate.open()

    async with asyncio.timeout(DEADLINE):
        done = await here.run(server.play("hello", Step(blocks=[Say("Hello.")])), release)
    assert done.text == "Hello."


async def test_a_server_that_never_tells_the_window_is_not_waited_for(
    server: ModelServer, world: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ollama_adapter, "_TIMEOUT", 0.1)
    server.pages["/ollama/api/ps"] = Gate()
    here = ollama(world, "qwen3-4k")
    async with asyncio.timeout(DEADLINE):
        done = await here.run(server.play("hello", Step(blocks=[Say("Hello.")])))
    assert (done.text, here.of(Noted)) == ("Hello.", [])


async def test_the_window_is_that_of_the_model_that_is_asked_and_its_server_is_given_the_key(
    server: ModelServer, world: Make
) -> None:
    other = ollama(world, "qwen3-32k")
    await other.run(server.play("hello", Step(blocks=[Say("Hello.")])))
    await other.close()
    here = ollama(world, "qwen3-4k", key="ollama-key")
    await here.run("SCN:hello")
    assert "context window of 4,096 tokens" in here.of(Noted)[0].text
    assert server.others[-1].headers["authorization"] == "Bearer ollama-key"


async def test_what_fits_is_sent(server: ModelServer, world: Make) -> None:
    here = ollama(world, "qwen3-8k")
    await here.run(server.play("hello", Step(blocks=[Say("Hello.")])))
    done = await here.run("word " * 3_000 + server.play("long", Step(blocks=[Say("I read it.")])))
    assert (done.ending, done.text) == ("completed", "I read it.")


async def test_what_cannot_fit_is_left_out_or_refused_and_not_cut_in_silence(server: ModelServer, world: Make) -> None:
    here = ollama(world, "qwen3-4k")
    read = Step(blocks=[Call("Bash", {"command": "yes word | head -c 24000"})])
    done = await here.run(server.play("long", read, read, Step(blocks=[Say("Done.")])))
    assert done.ending == "prompt_too_long"
    assert "context window of 4,096 tokens" in done.text
    assert len(server.requests) < 3


async def test_an_image_is_not_measured_by_its_bytes(server: ModelServer, world: Make) -> None:
    """It costs what its image costs, some hundred to two thousand tokens, however large its file is."""
    here = ollama(world, "qwen3-32k")
    await here.run(server.play("hello", Step(blocks=[Say("Hello.")])))
    image = Image("image/png", "aGk=" * 100_000)
    done = await here.run((Text(server.play("look", Step(blocks=[Say("A cat.")]))), image))
    assert (done.ending, done.text) == ("completed", "A cat.")
    PIL.Image.frombytes("RGB", (300, 300), random.Random(1).randbytes(270_000)).save(here.work / "noise.png")
    read = Step(blocks=[Call("Read", {"file_path": "noise.png"}, "r")])
    done = await here.run(server.play("read", read, Step(blocks=[Say("Noise.")])))
    assert len(server.requests[-1].raw) > 6 * 32_768
    assert (done.ending, done.text, here.of(Pruned)) == ("completed", "Noise.", [])
