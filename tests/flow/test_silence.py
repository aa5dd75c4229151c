"""How long a model may be silent, and what breaks the silence (H3-5, F9)."""

import asyncio

import pytest

from bobstay.engine.agent import StreamTimeouts
from bobstay.model.live_events import MessageBegan, Retrying
from tests.kit.scripted_session import MakeSession
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Say, Step
from tests.modelserver.server import ModelServer

FINE = Step(blocks=[Say("Recovered.")])
UNKNOWN_EVENT = b'event: response.new_thing\ndata: {"type":"response.new_thing"}\n\n'


def test_the_watchdog_waits_five_minutes_and_ten_for_the_first_event_of_a_local_model() -> None:
    assert StreamTimeouts() == StreamTimeouts(first=300.0, between=300.0, first_local=600.0)


@pytest.mark.parametrize(
    ("vendor", "sign"),
    [
        ("anthropic", b""),
        ("openrouter", b""),
        ("gemini", b""),
        ("responses", UNKNOWN_EVENT),
        ("ollama", b"\n"),
    ],
    ids=["ping event", "comment of OpenRouter", "comment", "unknown event", "blank line"],
)
@pytest.mark.parametrize("blocks", [0, 1], ids=["before the first event", "between events"])
async def test_any_byte_of_the_server_is_a_sign_of_life(
    model: ModelServer, make_session: MakeSession, vendor: str, sign: bytes, blocks: int
) -> None:
    session = make_session(vendor=vendor, timeouts=StreamTimeouts(first=0.8, between=0.8))
    answer = Step(blocks=[Say("First."), Say("Second.")], stall_after=blocks, pings=55, ping=sign)
    done = await session.run(model.play("slow", answer))
    assert done.ending == "completed"
    assert len(model.requests) == 1
    assert session.of(Retrying) == []


@pytest.mark.parametrize("stall", ["silent", "half_event"])
async def test_a_silent_model_is_asked_again(model: ModelServer, make_session: MakeSession, stall: str) -> None:
    session = make_session(timeouts=StreamTimeouts(first=0.3, between=0.3))
    fault = Step(blocks=[Say("never")], stall=stall, times=1, then=FINE)  # type: ignore[arg-type]
    async with asyncio.timeout(DEADLINE):
        done = await session.run(model.play("stall", fault))
    assert done.text == "Recovered."
    assert session.of(Retrying)[0].error == "server_error"


async def test_silence_between_events_is_noticed_when_its_own_limit_is_over(
    model: ModelServer, make_session: MakeSession
) -> None:
    """Not when the longer limit for the first event is."""
    session = make_session(timeouts=StreamTimeouts(first=3600, between=0.3))
    fault = Step(blocks=[Say("never"), Say("never")], stall="half_event", stall_after=1, times=1)
    async with asyncio.timeout(DEADLINE):
        done = await session.run(model.play("stall", fault, FINE))
    assert done.text == "Recovered."


async def test_a_local_model_has_a_limit_of_its_own_for_its_first_event(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session(vendor="ollama", local=True, timeouts=StreamTimeouts(first=0.1, between=60, first_local=60))
    done = await session.run(model.play("load", Step(blocks=[Say("Loaded.")], delay=0.5)))
    assert done.text == "Loaded."
    assert session.of(Retrying) == []


async def test_a_hosted_model_does_not_have_the_limit_of_a_local_one(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session(timeouts=StreamTimeouts(first=0.3, between=60, first_local=3600))
    async with asyncio.timeout(DEADLINE):
        done = await session.run(model.play("stall", Step(stall="silent", times=1, then=FINE)))
    assert done.text == "Recovered."
    assert len(session.of(MessageBegan)) == 1
