"""Rules about messages to other sessions: one that restricts a session holds however it is addressed."""

import pytest

from bobstay.permissions.access import Access, Effect
from bobstay.permissions.policy import Policy
from bobstay.permissions.rule import Rule


def judge(deny: str, *targets: str) -> Effect:
    """Judge a message that is allowed to go anywhere but to one session."""
    rules = (Rule.parse("SendMessage", Effect.ALLOW), Rule.parse(f"SendMessage({deny})", Effect.DENY))
    policy = Policy("default", rules, root="/srv/proj", home="/home/dev")
    accesses = tuple(Access("peer", target) for target in targets)
    return policy.judge("SendMessage", accesses, {"to": "x", "message": "m"}, read_only=False).effect


@pytest.mark.parametrize(
    ("deny", "target"),
    [
        ("bridge:abc", "bridge:abc"),
        ("bridge:abc", "bridge:"),
        ("uds:/run/o.sock#abc", "uds:/run/o.sock"),
        ("uds:/run/o.sock#*", "uds:/run/o.sock"),
        ("uds:/run/*", "uds:/run/o.sock#abc"),
    ],
)
def test_an_address_without_a_session_may_mean_the_one_that_is_denied(deny: str, target: str) -> None:
    assert judge(deny, target) is Effect.DENY


@pytest.mark.parametrize(
    ("deny", "target"),
    [("bridge:abc", "bridge:ab"), ("uds:/run/o.sock#abc", "uds:/run/o.sock#ab"), ("uds:/run/x.sock#a", "uds:/run/o")],
)
def test_other_sessions_are_not_denied_with_it(deny: str, target: str) -> None:
    assert judge(deny, target) is Effect.ALLOW
