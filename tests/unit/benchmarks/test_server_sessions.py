"""The benchmark of the server's latency: it counts how old each piece is when it arrives."""

from benchmarks.server_sessions import ages_of


def test_every_piece_of_a_frame_has_its_own_age() -> None:
    frames = [
        {"type": "part.delta", "data": {"text": "@10.000000@ some @10.050000@ more "}},
        {"type": "part.done", "data": {"text": "@1.000000@"}},
        {"type": "part.delta", "data": {"text": "no stamp"}},
    ]
    assert [[round(age, 3) for age in frame] for frame in ages_of(frames, 10.06)] == [[0.06, 0.01]]


def test_a_constant_delay_is_seen() -> None:
    frames = [{"type": "part.delta", "data": {"text": "@10.000000@"}}]
    assert ages_of(frames, 11.0) == [[1.0]]
