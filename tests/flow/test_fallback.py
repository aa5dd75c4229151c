"""A fallback lasts one turn: the next one begins with the model the person chose (H3-5)."""

from bobstay.model.event import Event, ModelChanged, TurnStarted
from bobstay.model.live_events import Requesting
from tests.kit.scripted_session import MakeSession
from tests.modelserver.script import Say, Step
from tests.modelserver.server import ModelServer

FINE = Step(blocks=[Say("Fine.")])
OVERLOADED = Step(status=529, error_type="overloaded_error", times=3, then=FINE)


def asked(model: ModelServer) -> str:
    return str(model.requests[-1].body["model"])


async def test_the_turn_after_a_fallback_asks_the_chosen_model_again_and_says_so(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session(fallbacks=("claude-weak",))
    await session.run(model.play("busy", OVERLOADED))
    assert asked(model) == "claude-weak"
    await session.run(model.play("next", FINE))
    assert asked(model) == "claude-test"
    assert session.of(TurnStarted)[0].model == "claude-test"
    assert session.of(ModelChanged) == [ModelChanged("claude-test", "restored", "claude-weak")]
    await session.run(model.play("third", FINE))
    assert session.of(ModelChanged) == []


async def test_each_turn_may_fall_back_again(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(fallbacks=("claude-weak",))
    for name in ("one", "two"):
        await session.run(model.play(name, OVERLOADED))
        assert session.of(ModelChanged)[-1] == ModelChanged("claude-weak", "fallback", "claude-test")


async def test_a_resumed_session_asks_the_chosen_model_and_not_the_fallback(
    model: ModelServer, make_session: MakeSession
) -> None:
    first = make_session(fallbacks=("claude-weak",))
    first.driver.set_model("claude-chosen")
    await first.run(model.play("busy", OVERLOADED))
    assert asked(model) == "claude-weak"
    first.log.close()
    second = make_session(fallbacks=("claude-weak",))
    await second.run(model.play("next", FINE))
    assert asked(model) == "claude-chosen"


async def test_a_model_chosen_during_a_fallback_stays(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(fallbacks=("claude-weak",))

    def choose(event: Event) -> None:
        if isinstance(event, ModelChanged):
            session.driver.set_model("claude-chosen")

    await session.run(model.play("busy", OVERLOADED), choose)
    assert asked(model) == "claude-chosen"
    await session.run(model.play("next", FINE))
    assert asked(model) == "claude-chosen"
    assert session.of(ModelChanged) == []


async def test_a_model_chosen_while_a_request_fails_is_asked_next(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session(fallbacks=("claude-weak",))

    def choose(event: Event) -> None:
        if isinstance(event, Requesting) and len(session.of(Requesting)) == 3:
            session.driver.set_model("claude-chosen")

    await session.run(model.play("busy", OVERLOADED), choose)
    assert asked(model) == "claude-chosen"
    assert session.driver.state.model == "claude-chosen"
    assert session.of(ModelChanged) == []


async def test_a_fallback_that_a_chosen_model_made_needless_is_left_for_that_model(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session(fallbacks=("claude-weak",))
    overloaded = Step(status=529, error_type="overloaded_error", times=6, then=FINE)

    def choose(event: Event) -> None:
        if isinstance(event, Requesting) and len(session.of(Requesting)) == 3:
            session.driver.set_model("claude-chosen")

    done = await session.run(model.play("busy", overloaded), choose)
    assert session.of(ModelChanged) == [ModelChanged("claude-weak", "fallback", "claude-chosen")]
    assert (done.text, asked(model)) == ("Fine.", "claude-weak")


async def test_a_fallback_that_was_chosen_is_not_fallen_back_to(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(fallbacks=("claude-weak", "claude-other"))
    overloaded = Step(status=529, error_type="overloaded_error", times=6, then=FINE)

    def choose(event: Event) -> None:
        if isinstance(event, Requesting) and len(session.of(Requesting)) == 3:
            session.driver.set_model("claude-weak")

    await session.run(model.play("busy", overloaded), choose)
    assert session.of(ModelChanged) == [ModelChanged("claude-other", "fallback", "claude-weak")]
