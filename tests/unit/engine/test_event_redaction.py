"""Every kind of event is redacted: what is stored and what is shown (H12-4)."""

from typing import Any, get_args

import msgspec
import pytest

from bobstay.engine.event_redaction import FIELDS, redact_event
from bobstay.engine.live_redaction import LiveRedaction
from bobstay.model.event import BlockDone, Durable
from bobstay.model.live_events import InputDelta, Live, Retrying, TextDelta, ThinkingDelta, ToolProgress
from bobstay.model.message import Text
from bobstay.redaction.redactor import Redactor

SECRET = "q8Zr41LmNp0xW7tv"
NAMES = frozenset(
    {
        *(
            "id",
            "message_id",
            "call_id",
            "call_ids",
            "worker",
            "agent",
            "client_id",
            "request_id",
            "parent",
            "cwd",
            "root",
        ),
        *("engine_session", "version", "model", "mode", "previous", "by", "born", "why", "hook", "event", "outcome"),
        *("name", "stop", "forked_from", "imported_from", "signal", "reason_type", "source", "output_file"),
        *("agent_type", "effort", "first_call", "forked_at", "worktree", "branch", "notice", "local_command"),
    }
)
"""Fields with ids, names and paths, made by programs."""


def filled(kind: Any, name: str) -> Any:
    """A value of the type `kind` in which every text is the secret."""
    kinds = get_args(kind)
    if kind is str or kind is Any or kind == "Any":
        return SECRET
    if kind in (int, float):
        return 1
    if kind is bool:
        return False
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return whole(kind)
    origin = getattr(kind, "__origin__", None)
    if origin is tuple:
        return (filled(kinds[0], name),)
    if origin is dict:
        return {"text": SECRET}
    if kinds and all(isinstance(one, str) for one in kinds):  # Literal
        return kinds[0]
    if kinds:
        if str in kinds:
            return SECRET
        texts = [one for one in kinds if one is not type(None)]
        return filled(next((one for one in texts if one is Text), texts[0]), name)
    return None


def whole(kind: type[Any]) -> Any:
    values = {}
    for field in msgspec.structs.fields(kind):
        if field.name in NAMES:
            values[field.name] = ("plain",) if field.name == "call_ids" else "plain"
        else:
            values[field.name] = filled(field.type, field.name)
    return kind(**values)


@pytest.mark.parametrize("kind", get_args(Durable), ids=lambda kind: kind.__name__)
def test_no_kind_of_event_keeps_a_secret(kind: type[Any]) -> None:
    event = whole(kind)
    assert kind in FIELDS
    kept = msgspec.json.encode(redact_event(event, Redactor({"MY_KEY": SECRET}))).decode()
    for field in ("files", "cwd"):  # of ToolDone: paths, which tools read again
        kept = kept.replace(f'"{field}":{{"text":"{SECRET}"}}', "")
    assert SECRET not in kept


@pytest.mark.parametrize("kind", get_args(Live), ids=lambda kind: kind.__name__)
def test_no_kind_of_live_event_shows_a_secret(kind: type[Any]) -> None:
    redaction = LiveRedaction(Redactor({"MY_KEY": SECRET}))
    shown = redaction.redact(whole(kind))
    assert shown is None or SECRET not in msgspec.json.encode(shown).decode()


@pytest.mark.parametrize("kind", [TextDelta, ThinkingDelta, InputDelta])
def test_a_secret_in_two_pieces_is_not_shown_and_nothing_else_is_lost(kind: Any) -> None:
    redaction = LiveRedaction(Redactor({"MY_KEY": SECRET}))
    pieces = [redaction.redact(kind("m", 0, text)) for text in (f"a {SECRET[:5]}", f"{SECRET[5:]} b {SECRET[:3]}")]
    pieces.append(redaction.flush(BlockDone("m", 0, Text("x"))))
    text = "".join(piece.json if isinstance(piece, InputDelta) else piece.text for piece in pieces if piece is not None)  # type: ignore[union-attr]
    assert text == f"a [masked MY_KEY] b {SECRET[:3]}"


def test_an_event_without_a_secret_is_the_very_same() -> None:
    redactor = Redactor({"MY_KEY": SECRET[::-1]})
    for kind in get_args(Durable):
        event = whole(kind)
        assert redact_event(event, redactor) is event
    redaction = LiveRedaction(redactor)
    for live in (ToolProgress("c", "x"), Retrying(1, 2, 0.1, None, "x"), TextDelta("m", 0, "x ")):
        assert redaction.redact(live) is live
