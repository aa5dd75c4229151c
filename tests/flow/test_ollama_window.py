"""A context window that is too small for the work is told, and never overrun in silence (H3-12)."""

from collections.abc import Callable

import pytest

from bobstay.model.event import Noted
from bobstay.model.message import Image, Text
from bobstay.providers.ollama import Ollama
from tests.flow.world import World
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

Make = Callable[..., World]


def ollama(make: Make, model: str, path: str = "/ollama/v1") -> World:
    return make(allow=("Bash",), adapter=lambda http, url: Ollama(http, base_url=url + path), model=model)


@pytest.mark.parametrize(
    ("model", "window"),
    [("qwen3-4k", "4,096"), ("qwen3-8k:8b", "8,192"), ("old-qwen", "4,096"), ("configured-qwen", "8,192")],
)
async def test_a_small_window_is_told_once_with_what_to_do(
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


async def test_a_window_that_is_large_enough_is_not_told_of(server: ModelServer, world: Make) -> None:
    here = ollama(world, "qwen3-32k")
    await here.run(server.play("hello", Step(blocks=[Say("Hello.")])))
    assert here.of(Noted) == []


async def test_a_server_that_does_not_tell_the_window_works_all_the_same(server: ModelServer, world: Make) -> None:
    here = ollama(world, "qwen3", path="/v1")
    done = await here.run(server.play("hello", Step(blocks=[Say("Hello.")])))
    assert (done.text, here.of(Noted)) == ("Hello.", [])


async def test_what_cannot_fit_is_left_out_or_refused_and_not_cut_in_silence(server: ModelServer, world: Make) -> None:
    here = ollama(world, "qwen3-4k")
    read = Step(blocks=[Call("Bash", {"command": "yes word | head -c 24000"})])
    done = await here.run(server.play("long", read, read, Step(blocks=[Say("Done.")])))
    assert done.ending == "prompt_too_long"
    assert "context window of 4,096 tokens" in done.text
    assert len(server.requests) < 3


async def test_an_image_is_not_measured_by_its_bytes(server: ModelServer, world: Make) -> None:
    """It costs what its picture costs, some hundred to two thousand tokens, however large its file is."""
    here = ollama(world, "qwen3-32k")
    await here.run(server.play("hello", Step(blocks=[Say("Hello.")])))
    picture = Image("image/png", "aGk=" * 100_000)
    done = await here.run((Text(server.play("look", Step(blocks=[Say("A cat.")]))), picture))
    assert (done.ending, done.text) == ("completed", "A cat.")
