"""Recipients outside a session: how they are named, what rules see of them, and what fails."""

import asyncio
import os
import socket
from pathlib import Path

import pytest

from bobstay.permissions.access import Access, Effect
from bobstay.tools.peer_sessions import PeerSession, describe_peer, parse_peer, send_to_peer
from bobstay.tools.tool_error import ToolError
from tests.unit.permissions.policy_kit import policy

CONSOLE = "/home/me/.bobstay/server/rpc.sock"


def test_recipients_outside_are_told_from_those_inside() -> None:
    """H7-4"""
    assert parse_peer("explore_1234", CONSOLE) is None
    assert parse_peer("*", CONSOLE) is None
    assert parse_peer("bridge:abc", CONSOLE) == PeerSession(CONSOLE, "abc")
    assert parse_peer("uds:/run/x.sock", CONSOLE) == PeerSession("/run/x.sock")
    assert parse_peer("uds:/run/x.sock#abc", CONSOLE) == PeerSession("/run/x.sock", "abc")


@pytest.mark.parametrize("to", ["bridge:", "uds:", "uds:relative.sock", "uds:~/x.sock", "uds:/a\0b"])
def test_a_recipient_that_names_nothing_is_an_error_that_says_what_to_write(to: str) -> None:
    with pytest.raises(ToolError, match="Name a "):
        parse_peer(to, CONSOLE)


def test_links_and_other_names_of_a_socket_are_seen_through(tmp_path: Path) -> None:
    """A rule about a socket holds however a call names it."""
    console = tmp_path / "rpc.sock"
    console.touch()
    (tmp_path / "link").symlink_to(console)
    peer = parse_peer(f"uds:{tmp_path}/x/../link#abc", str(console))
    assert peer is not None
    assert describe_peer(peer, str(tmp_path / "link")) == (f"uds:{console}#abc", "bridge:abc")


TARGETS = (Access("peer", "uds:/run/x.sock#abc"),)
GIVEN = {"to": "uds:/link#abc", "message": "hello"}


def test_a_message_outside_is_asked_about_and_the_reason_says_where_it_goes() -> None:
    """H7-4"""
    decision = policy().judge("SendMessage", TARGETS, GIVEN, read_only=False)
    assert decision.effect is Effect.ASK
    assert "uds:/run/x.sock#abc, outside this session" in decision.why
    assert policy().judge("SendMessage", (Access("none"),), {"to": "x"}, read_only=False).effect is Effect.ALLOW


@pytest.mark.parametrize(
    "rule",
    ["SendMessage", "SendMessage(uds:*)", "SendMessage(uds:/run/*)", "SendMessage(to:uds:/run/x.sock#abc)"],
)
def test_deny_rules_hold_for_where_a_message_goes(rule: str) -> None:
    decision = policy(deny=(rule,), allow=("SendMessage",)).judge("SendMessage", TARGETS, GIVEN, read_only=False)
    assert decision.effect is Effect.DENY


@pytest.mark.parametrize(
    ("rule", "effect"),
    [
        ("SendMessage", Effect.ALLOW),
        ("SendMessage(uds:/run/x.sock*)", Effect.ALLOW),
        ("SendMessage(uds:/link*)", Effect.ASK),
        ("SendMessage(bridge:*)", Effect.ASK),
    ],
)
def test_allow_rules_are_about_where_a_message_goes_not_about_how_that_was_written(rule: str, effect: Effect) -> None:
    assert policy(allow=(rule,)).judge("SendMessage", TARGETS, GIVEN, read_only=False).effect is effect


def test_the_rule_that_is_offered_allows_the_same_recipient_and_no_other() -> None:
    (update,) = policy().suggest("SendMessage", TARGETS, GIVEN)
    rule = update["rules"][0]
    assert (rule["toolName"], rule["ruleContent"]) == ("SendMessage", "uds:/run/x.sock#abc")


async def test_nobody_listening_is_told_with_what_to_do(tmp_path: Path) -> None:
    """H7-4"""
    with pytest.raises(ToolError, match=r"No console listens .* Nothing was sent\. A person starts one with: bobstay"):
        await send_to_peer(PeerSession(str(tmp_path / "none" / "rpc.sock"), "a"), "x", sender="s", message_id="m")
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / "left"))
    left.close()
    with pytest.raises(ToolError, match="No console listens"):
        await send_to_peer(PeerSession(str(tmp_path / "left"), "a"), "x", sender="s", message_id="m")


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        (b"", "broke"),
        (b"garbage\n", "broke"),
        (b'{"jsonrpc":"2.0","id":7,"result":1}\n[]\n', "broke"),
        (
            b'{"id":1,"error":{"message":"There is no session nope."}}\n',
            "refused the message: There is no session nope",
        ),
        (b'{"id":1,"error":{}}\n', "refused"),
    ],
)
async def test_an_answer_that_is_none_is_a_plain_error(tmp_path: Path, answers: bytes, error: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(answers)
        writer.close()

    path = os.path.join(tmp_path, "x")
    async with await asyncio.start_unix_server(serve, path):
        with pytest.raises(ToolError, match=error):
            await send_to_peer(PeerSession(path, "nope"), "x", sender="s", message_id="m")
