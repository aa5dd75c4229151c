"""The reply to a call that came after its turn was aborted."""

from bobstay.engine.pipeline import not_started_reply
from bobstay.model.message import ToolCall


def test_a_call_that_came_too_late_is_answered_as_an_interrupted_one_without_effect() -> None:
    done = not_started_reply(ToolCall("a", "Bash", {}), "by the user")
    assert (done.interrupted, done.reply.is_error, done.name) == (True, True, "Bash")
    assert "by the user" in done.reply.text
    assert "no effect" in done.reply.text
