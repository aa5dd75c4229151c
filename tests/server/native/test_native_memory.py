"""Memory of an idle session with the native engine."""

import asyncio
import gc
import re
import types
from typing import Any

from bobstay.providers.message_encoding import EncodingCache
from bobstay.server.memory_trimming import MemoryTrimming
from tests.kit.consoles import BareConsole, StartConsole
from tests.kit.waiting import DEADLINE, until
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

READS = 3
LANDMARK = "a line that stands in no other file"


async def test_a_session_that_waits_holds_what_it_has_read_once(
    model: ModelServer, start_console: StartConsole
) -> None:
    """Its next request begins with the bytes of the last one all the same."""
    console = await start_console()
    for number in range(READS):
        (console.work / f"{number}.txt").write_text(f"{LANDMARK}\n" * 50)
    reads = [Step(blocks=[Call("Read", {"file_path": f"{number}.txt"}, f"c{number}")]) for number in range(READS)]
    prompt = model.play("read", *reads, Step(blocks=[Say("Read.")]), Step(blocks=[Say("Again.")]))
    gc.collect()
    gc.disable()  # what waits for the collector may wait for minutes
    try:
        view = await console.launch(prompt)
        await idle(console, view.id)
        await until(lambda: not any(type(each) is EncodingCache for each in gc.get_objects()))
    finally:
        gc.enable()
    held = reachable_texts(console.runner.worker(view.id))
    assert [type(text).__name__ for text in held] == ["str"] * READS

    await console.say(view.id, "and now?")
    await console.until(view.id, lambda view: view.turns == 2)
    await idle(console, view.id)
    *_, last, next_one = (re.sub(rb',"cache_control":\{[^}]*\}', b"", asked.raw) for asked in model.requests)
    assert next_one.startswith(last.removesuffix(b"]}"))


async def test_what_turns_have_freed_is_given_back_to_the_system(
    model: ModelServer, start_console: StartConsole
) -> None:
    console = await start_console()
    given_back: asyncio.Queue[None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def trim() -> None:
        loop.call_soon_threadsafe(given_back.put_nowait, None)

    MemoryTrimming(console.registry, wait=0, trim=trim)
    view = await console.launch(model.play("two", Step(blocks=[Say("One.")]), Step(blocks=[Say("Two.")])))
    async with asyncio.timeout(DEADLINE):
        await given_back.get()
    await console.say(view.id, "and now?")
    async with asyncio.timeout(DEADLINE):
        await given_back.get()


async def idle(console: BareConsole, session_id: str) -> None:
    await console.until_status(session_id, "completed")
    async with asyncio.timeout(DEADLINE):
        while (worker := console.runner.worker(session_id)) is not None and worker.busy:
            await asyncio.sleep(0)


def reachable_texts(root: Any) -> list[Any]:
    """All objects with text of the files that can be reached from `root` by references."""
    found: list[Any] = []
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        value = waiting.pop()
        # The loop, the globals of modules and the console lead to the scripted model, which keeps all requests.
        if id(value) in seen or isinstance(value, types.ModuleType | type | asyncio.AbstractEventLoop | BareConsole):
            continue
        seen.add(id(value))
        if isinstance(value, str):
            found += [value] if LANDMARK in value else []
        elif isinstance(value, bytes | bytearray):
            found += [value] if LANDMARK.encode() in value else []
        elif isinstance(value, types.FunctionType):
            waiting += [value.__closure__, value.__defaults__, value.__kwdefaults__]
        else:
            waiting += gc.get_referents(value)
    return found
