"""Decoding is lossless, and the kind of a file is detected from its first bytes."""

import codecs

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bobstay.tools.files.file_content import (
    decode,
    detect_kind,
    dominant_newline,
    is_binary,
    make_visible,
    with_newlines,
    with_plain_newlines,
)

MARKS = (b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


@given(st.sampled_from(MARKS), st.binary(max_size=200))
@example(b"", b"caf\xe9\r\n")
@example(codecs.BOM_UTF16_LE, b"\x00\xd8a\x00")
@example(codecs.BOM_UTF16_LE, b"\x00\x00")
@example(codecs.BOM_UTF8, b"caf\xe9")
def test_any_bytes_survive_decoding_and_encoding(mark: bytes, body: bytes) -> None:
    """F19: a lossy decode corrupts files; ours gives every byte back."""
    content = decode(mark + body)
    assert content.encode(content.text) == mark + body


@given(st.binary(max_size=100))
def test_what_is_shown_can_always_be_sent(raw: bytes) -> None:
    make_visible(decode(raw).text).encode()


@pytest.mark.parametrize(
    ("raw", "text", "encoding"),
    [
        (b"plain\n", "plain\n", "utf-8"),
        ("zoë\n".encode(), "zoë\n", "utf-8"),
        ("zoë\n".encode("latin-1"), "zoë\n", "cp1252"),
        (codecs.BOM_UTF8 + b"a", "a", "utf-8"),
        (codecs.BOM_UTF16_LE + "añ\n".encode("utf-16-le"), "añ\n", "utf-16-le"),
        (codecs.BOM_UTF16_BE + "añ\n".encode("utf-16-be"), "añ\n", "utf-16-be"),
        (codecs.BOM_UTF32_LE + "añ\n".encode("utf-32-le"), "añ\n", "utf-32-le"),
        ("zoë".encode() + b"\xff", "zoë\udcff", "utf-8"),
    ],
)
def test_the_encoding_is_recognised(raw: bytes, text: str, encoding: str) -> None:
    content = decode(raw)
    assert (content.text, content.encoding) == (text, encoding)


def test_a_file_with_broken_bytes_is_known_not_to_be_intact() -> None:
    assert not decode("zoë".encode() + b"\xff").intact
    assert decode("zoë".encode()).intact


@pytest.mark.parametrize(
    ("text", "newline"),
    [("", "\n"), ("a", "\n"), ("a\nb\n", "\n"), ("a\r\nb\r\n", "\r\n"), ("a\rb\r", "\r"), ("a\r\nb\r\nc\n", "\r\n")],
)
def test_the_usual_newline_of_a_text_is_found(text: str, newline: str) -> None:
    assert dominant_newline(text) == newline


def test_newlines_are_made_plain_and_put_back() -> None:
    assert with_plain_newlines("a\r\nb\rc\n") == "a\nb\nc\n"
    assert with_newlines("a\nb\n", "\r\n") == "a\r\nb\r\n"


@pytest.mark.parametrize(
    ("head", "path", "kind"),
    [
        (b"", "a", "text"),
        (b"hello", "a.png", "text"),
        (b"\x89PNG\r\n\x1a\n\0\0", "a.txt", "image"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "a", "image"),
        (b"RIFF\0\0\0\0WAVEfmt ", "a", "binary"),
        (b"%PDF-1.7", "a", "pdf"),
        (b"{}", "a.ipynb", "notebook"),
        (b"a\0b", "a", "binary"),
        (b"\x01\x02\x03\x04\x05ab", "a", "binary"),
        (b"\x1b[31mred\x1b[0m\n", "a", "text"),
        (codecs.BOM_UTF16_LE + b"a\0", "a", "text"),
    ],
)
def test_the_kind_of_a_file_is_told_by_its_beginning(head: bytes, path: str, kind: str) -> None:
    assert detect_kind(head, path) == kind


def test_a_nul_far_into_the_file_does_not_make_it_binary() -> None:
    assert not is_binary(b"a" * 9000 + b"\0")
