"""The benchmark of the server's latency: it counts how old the newest piece is when it arrives."""

from benchmarks.server_sessions import ages_of


def test_a_frame_is_as_old_as_its_newest_piece() -> None:
    frames = [
        {"type": "part.delta", "data": {"text": "@10.000000@ some @10.050000@ more "}},
        {"type": "part.done", "data": {"text": "@1.000000@"}},
        {"type": "part.delta", "data": {"text": "no stamp"}},
    ]
    assert [round(age, 3) for age in ages_of(frames, 10.06)] == [0.01]


def test_a_constant_delay_is_seen() -> None:
    frames = [{"type": "part.delta", "data": {"text": "@10.000000@"}}]
    assert ages_of(frames, 11.0) == [1.0]
