"""Hooks that a host registered with `initialize`; all hooks of an event are called concurrently."""

import asyncio
from typing import Any

from msgspec import Struct

from bobstay.hooks.hook_event import NO_OPINION, HookCall, HookName, HookOutcome
from bobstay.hooks.hook_outcome import failure_outcome, merge_outcomes, parse_outcome
from bobstay.hooks.hook_settings import DEFAULT_TIMEOUT, NAMES
from bobstay.hooks.matcher import BadMatcherError, MatcherIndex, parse_matcher
from bobstay.model.ids import new_id
from bobstay.wire.control_channel import ControlChannel, ControlError
from bobstay.wire.wire_frames import Frame

__all__ = ["BadMatcherError", "HostHooks"]


class Matcher(Struct, frozen=True):
    pattern: str
    """ "" matches everything."""
    callbacks: tuple[str, ...]
    timeout: float
    block: bool
    """Whether a failing callback blocks."""


class HostHooks:
    """The hooks of a host; none until it registers some."""

    def __init__(self, channel: ControlChannel) -> None:
        self._channel = channel
        self._matchers = MatcherIndex[Matcher]()

    def register(self, hooks: object) -> None:
        """Register the hooks of `initialize`, replacing earlier ones.

        Raises:
            BadMatcherError: a matcher is invalid.
        """
        if isinstance(hooks, dict):
            listed = ((name, each) for name, entries in hooks.items() if name in NAMES for each in _matchers(entries))
            self._matchers = MatcherIndex((name, matcher.pattern, matcher) for name, matcher in listed)

    def wants(self, name: HookName, subject: str = "") -> bool:
        return bool(self._matchers.find(name, subject))

    async def run(self, call: HookCall) -> HookOutcome:
        matching = self._matchers.find(call.name, call.subject)
        calls = [(matcher, callback) for matcher in matching for callback in matcher.callbacks]
        if not calls:
            return NO_OPINION
        fields = {"hook_event_name": call.name, **call.fields}
        outcomes = await asyncio.gather(*(self._call(call, fields, matcher, callback) for matcher, callback in calls))
        return merge_outcomes(outcomes)

    async def _call(self, call: HookCall, fields: Frame, matcher: Matcher, callback: str) -> HookOutcome:
        body = {
            "subtype": "hook_callback",
            "callback_id": callback,
            "input": fields,
            "tool_use_id": call.tool_use_id or new_id(),
        }
        try:
            response = await asyncio.wait_for(self._channel.request(body), matcher.timeout)
        except ControlError as error:
            return failure_outcome(call, str(error), block=matcher.block)
        except TimeoutError:
            reason = f"no answer within {matcher.timeout:g} s"
            return failure_outcome(call, reason, block=matcher.block, late=True)
        return parse_outcome(call, response, block=matcher.block)


def _matchers(entries: object) -> tuple[Matcher, ...]:
    listed = entries if isinstance(entries, list) else []
    return tuple(_matcher(entry) for entry in listed if isinstance(entry, dict))


def _matcher(entry: dict[str, Any]) -> Matcher:
    callbacks = entry.get("hookCallbackIds")
    timeout = entry.get("timeout")
    return Matcher(
        parse_matcher(entry.get("matcher") or None),
        tuple(str(callback) for callback in callbacks) if isinstance(callbacks, list) else (),
        float(timeout) if isinstance(timeout, int | float) and timeout > 0 else DEFAULT_TIMEOUT,
        entry.get("onFailure") == "block",
    )
