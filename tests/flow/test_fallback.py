"""A fallback lasts one turn: the next one begins with the model the person chose (H3-5)."""

from collections.abc import Callable

from bobstay.model.event import Event, ModelChanged, TurnStarted
from bobstay.model.live_events import Requesting
from tests.flow.world import World
from tests.modelserver.script import Say, Step
from tests.modelserver.server import ModelServer

Make = Callable[..., World]
FINE = Step(blocks=[Say("Fine.")])
OVERLOADED = Step(status=529, error_type="overloaded_error", times=3, then=FINE)


def asked(server: ModelServer) -> str:
    return str(server.requests[-1].body["model"])


async def test_the_turn_after_a_fallback_asks_the_chosen_model_again_and_says_so(
    server: ModelServer, world: Make
) -> None:
    here = world(fallbacks=("claude-weak",))
    await here.run(server.play("busy", OVERLOADED))
    assert asked(server) == "claude-weak"
    await here.run(server.play("next", FINE))
    assert asked(server) == "claude-test"
    assert here.of(TurnStarted)[0].model == "claude-test"
    assert here.of(ModelChanged) == [ModelChanged("claude-test", "restored", "claude-weak")]
    await here.run(server.play("third", FINE))
    assert here.of(ModelChanged) == []


async def test_each_turn_may_fall_back_again(server: ModelServer, world: Make) -> None:
    here = world(fallbacks=("claude-weak",))
    for name in ("one", "two"):
        await here.run(server.play(name, OVERLOADED))
        assert here.of(ModelChanged)[-1] == ModelChanged("claude-weak", "fallback", "claude-test")


async def test_a_resumed_session_asks_the_chosen_model_and_not_the_fallback(server: ModelServer, world: Make) -> None:
    first = world(fallbacks=("claude-weak",))
    first.driver.set_model("claude-chosen")
    await first.run(server.play("busy", OVERLOADED))
    assert asked(server) == "claude-weak"
    first.log.close()
    second = world(fallbacks=("claude-weak",))
    await second.run(server.play("next", FINE))
    assert asked(server) == "claude-chosen"


async def test_a_model_chosen_during_a_fallback_stays(server: ModelServer, world: Make) -> None:
    here = world(fallbacks=("claude-weak",))

    def choose(event: Event) -> None:
        if isinstance(event, ModelChanged):
            here.driver.set_model("claude-chosen")

    await here.run(server.play("busy", OVERLOADED), choose)
    assert asked(server) == "claude-chosen"
    await here.run(server.play("next", FINE))
    assert asked(server) == "claude-chosen"
    assert here.of(ModelChanged) == []


async def test_a_model_chosen_while_a_request_fails_is_asked_next(server: ModelServer, world: Make) -> None:
    here = world(fallbacks=("claude-weak",))

    def choose(event: Event) -> None:
        if isinstance(event, Requesting) and len(here.of(Requesting)) == 3:
            here.driver.set_model("claude-chosen")

    await here.run(server.play("busy", OVERLOADED), choose)
    assert asked(server) == "claude-chosen"
    assert here.driver.state.model == "claude-chosen"
    assert here.of(ModelChanged) == []
