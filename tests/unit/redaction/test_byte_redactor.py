"""Secrets do not get into output files: bytes in pieces, whole or cut anywhere, as fast as they come (H12-4)."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.redaction.byte_redactor import LONGEST_HELD, RedactedByteStream
from bobstay.redaction.redactor import Redactor
from tests.kit.waiting import DEADLINE
from tests.unit.redaction.test_redactor import BODY, MIXED, PEM, PLAIN, TOKENS, VALUES, A

PIECES = st.lists(st.integers(1, 3000), min_size=1)


def through(redactor: Redactor, data: bytes, sizes: list[int]) -> bytes:
    stream, out, at, turn = RedactedByteStream(redactor), [], 0, 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        out.append(stream.feed(data[at : at + size]))
        at, turn = at + size, turn + 1
    return b"".join([*out, stream.flush()])


@given(values=VALUES, parts=MIXED, sizes=PIECES, filler=st.integers(0, 9000))
def test_bytes_in_pieces_are_redacted_as_the_whole_text_is(
    values: dict[str, str], parts: list[str], sizes: list[int], filler: int
) -> None:
    text = "\n".join([*parts, *values.values(), "word " * (filler // 5), *TOKENS.values(), "end"])
    assert through(Redactor(values), text.encode(), sizes).decode() == Redactor(values).redact(text)


@pytest.mark.parametrize("kind", TOKENS)
def test_a_token_cut_in_two_anywhere_is_redacted(kind: str) -> None:
    data = f"before {TOKENS[kind]} after".encode()
    for cut in range(1, len(data)):
        stream = RedactedByteStream(Redactor())
        shown = stream.feed(data[:cut]) + stream.feed(data[cut:]) + stream.flush()
        assert A[:12].encode() not in shown, cut
        assert BODY[:12].encode() not in shown, cut
        assert shown.startswith(b"before ")
        assert shown.endswith(b" after")


def test_a_value_cut_in_two_anywhere_is_redacted_whatever_its_letters() -> None:
    redactor = Redactor({"DB_PASSWORD": "pä sswörd€ with spaces"})
    data = "x pä sswörd€ with spaces y".encode()
    for cut in range(1, len(data)):
        assert through(redactor, data, [cut, len(data)]) == b"x [masked DB_PASSWORD] y"
    assert redactor.placeholders == {"[masked DB_PASSWORD]"}


def test_a_value_whose_end_is_how_another_secret_begins_is_redacted_wherever_the_pieces_end() -> None:
    redactor = Redactor({"A_KEY": "0123456789passwords", "B_KEY": "swordfish!0123456789"})
    text = "x 0123456789passwordsk-0123456789passwordsword y"
    expected = redactor.redact(text)
    assert "passwords" not in expected
    for cut in range(1, len(text)):
        assert through(redactor, text.encode(), [cut, len(text)]).decode() == expected
        stream = redactor.stream()
        assert stream.feed(text[:cut]) + stream.feed(text[cut:]) + stream.flush() == expected


def test_a_short_value_inside_a_longer_word_is_none_wherever_the_pieces_end() -> None:
    redactor = Redactor({"A_PASSWORD": "p4ssw0rd", "B_PASSWORD": "0p3n-s3same"})
    text = (
        'check_p4ssw0rd(p4ssw0rd) p4ssw0rd1 xp4ssw0rd {"a": "\\np4ssw0rd"} '
        "\x1b[0mp4ssw0rd 0p3n-s3same 0p3n-s3sames p4ssw0rd"
    )
    expected = redactor.redact(text)
    assert expected == (
        'check_p4ssw0rd([masked A_PASSWORD]) p4ssw0rd1 xp4ssw0rd {"a": "\\n[masked A_PASSWORD]"} '
        "\x1b[0m[masked A_PASSWORD] [masked B_PASSWORD] 0p3n-s3sames [masked A_PASSWORD]"
    )
    for cut in range(1, len(text)):
        stream = redactor.stream()
        assert stream.feed(text[:cut]) + stream.feed(text[cut:]) + stream.flush() == expected, cut
        assert through(redactor, text.encode(), [cut, len(text)]).decode() == expected, cut


@given(st.lists(st.binary(max_size=300)))
def test_bytes_that_are_no_text_come_through_as_they_are(pieces: list[bytes]) -> None:
    stream = RedactedByteStream(Redactor({"A_KEY": "correct horse"}))
    assert b"".join([*map(stream.feed, pieces), stream.flush()]) == b"".join(pieces)


@pytest.mark.parametrize("text", PLAIN)
def test_what_only_resembles_a_token_stays(text: str) -> None:
    assert through(Redactor(), text.encode(), [7]) == text.encode()


def test_a_piece_without_secrets_is_passed_on_without_a_copy() -> None:
    piece = b"an ordinary line of output, and another one\n" * 5000
    assert RedactedByteStream(Redactor({"A_KEY": "zzzzzzzzzz"})).feed(piece) is piece


def test_a_private_key_of_many_lines_is_redacted_in_the_pieces_of_a_pipe() -> None:
    key = PEM.replace(BODY, "\n".join([BODY] * 60))
    assert len(key) > 15_000
    data = f"{'line ' * 3000}\n{key}\n{'line ' * 3000}".encode()
    shown = through(Redactor(), data, [4096])
    assert BODY[:20].encode() not in shown
    assert shown.count(b"line ") == 6000


def test_what_never_ends_is_not_held_without_bound() -> None:
    stream = RedactedByteStream(Redactor())
    shown = sum(len(stream.feed(b"sk-" + b"x-" * 500)) for _ in range(500))
    assert shown > 500_000 - LONGEST_HELD - 2_000


def test_a_hit_at_the_end_of_a_large_piece_is_found() -> None:
    """The search of the C library and ours agree on where things are."""
    token = TOKENS["github"].encode()
    for size in (4_000, 4_095, 4_096, 4_097, 70_000):
        data = b"." * (size - len(token)) + token + b" " + token + b"\n"
        shown = through(Redactor(), data, [len(data)])
        assert token not in shown
        assert len(re.findall(rb"\[masked GitHub token\]", shown)) == 2


def test_a_megabyte_of_anything_takes_bounded_time() -> None:
    redactor = Redactor({"A_KEY": "abcdefgh"})
    began = time.process_time()
    for hostile in ("sk-", "eyJ", "eyJaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----", "Bearer ", "x", "A", "xoxb-", "gh"):
        through(redactor, hostile.encode() * (1_000_000 // len(hostile)), [1 << 16])
    assert time.process_time() - began < DEADLINE
