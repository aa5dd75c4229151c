"""Escape sequences cannot harm the person who watches a terminal, however output is cut into pieces (FM-52)."""

import re
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bobstay.server.workers.terminal_escapes import KEPT, LONGEST_LINK, EscapeFilter

ENDS = (b"\x07", b"\x1b\\", b"\xc2\x9c")


def through(*pieces: bytes) -> bytes:
    sieve = EscapeFilter()
    return b"".join(map(sieve.feed, pieces))


def commands(data: bytes) -> list[bytes]:
    """Every OSC a terminal would obey in `data`, by its own state machine, one character at a time."""
    found: list[bytes] = []
    state, text = "ground", ""
    for letter in data.decode(errors="replace"):
        code = ord(letter)
        if state == "osc":
            if letter in "\x07\x18\x1a\x9c\x1b":
                found.append(text.encode())
                state = "escape" if letter == "\x1b" else "ground"
            elif code >= 0x20 and code != 0x7F:
                text += letter
        elif letter == "\x1b":
            state = "escape"
        elif letter == "\x9d" or (state == "escape" and letter == "]"):
            state, text = "osc", ""
        elif state == "escape" and (code >= 0x20 or letter in "\x18\x1a") and code != 0x7F:
            state = "ground"
    return [*found, text.encode()] if state == "osc" else found


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("number", ["52", "052", "0", "2", "9", "777", "1337", "50"])
def test_the_clipboard_titles_and_notices_are_out_of_reach(number: str, end: bytes) -> None:
    """FM-52: OSC 52 and its like never reach the client."""
    output = b"before\x1b]" + number.encode() + b";c;aGVsbG8=" + end + b"after"

    assert through(output).replace(b"\x1b\\", b"") == b"beforeafter"


@pytest.mark.parametrize(
    "output",
    [
        b"\x1b\x00]52;c;aGk=\x07",
        b"\x1b\n]52;c;aGk=\x07",
        b"\x1b]5\x002;c;aGk=\x07",
        b"\xc2\x9d52;c;aGk=\xc2\x9c",
        b"\x1b]10;red\x1b]52;c;aGk=\x07",
        b"\x1bP1;2\x1b]52;c;aGk=\x07",
        b"\x1b]52;c;aGk=",
    ],
)
def test_a_clipboard_command_in_disguise_does_not_get_through(output: bytes) -> None:
    """FM-52: terminals skip controls inside a command and know an eight-bit spelling of it."""
    assert not [command for command in commands(through(output)) if command.startswith(b"52")]


def test_links_lead_to_web_addresses_only() -> None:
    """FM-52: `javascript:` and `file:` are no targets of OSC 8; the text stays."""
    good = b"\x1b]8;;https://example.org/a\x07text\x1b]8;;\x07"
    bad = b"\x1b]8;id=1;javascript:alert(1)\x07text\x1b]8;;\x07"

    assert through(good) == good
    assert b"javascript" not in through(bad)
    assert b"text" in through(bad)


def test_a_link_that_never_ends_is_not_kept_in_memory() -> None:
    sieve = EscapeFilter()
    sieve.feed(b"\x1b]8;;https://")
    tracemalloc.start()
    try:
        for _ in range(1000):
            assert sieve.feed(b"a" * 1000) == b""
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 10 * LONGEST_LINK, "of a million bytes"


def test_colours_places_and_prompts_pass_unchanged() -> None:
    output = b"\x1b]11;?\x1b\\\x1b]133;A\x07\x1b[31mred\x1b[0m \xc3\xa4\xc2\xa0\x1b]7;file://host/tmp\x07"

    assert through(output) == output


_PIECES = st.sampled_from(
    [
        b"\x1b",
        b"]",
        b"52",
        b";",
        b"c",
        b"8",
        b"10",
        b"\x07",
        b"\\",
        b"\xc2",
        b"\x9d",
        b"\x9c",
        b"\x18",
        b"http://x",
        b"a",
    ]
)


@example([b"\x1b]52;x\x1b", b"\\"])
@example([b"\x1b]52;x\x1b", b"", b"\\"])
@given(st.lists(st.lists(_PIECES, max_size=8).map(b"".join), max_size=12))
def test_however_output_is_cut_the_same_comes_through(pieces: list[bytes]) -> None:
    """An ESC waits for what follows it while controls pass it by, so it may stand behind a BEL: that means the same."""
    end = b"\x18end"
    cut, whole = through(*pieces, end), through(b"".join(pieces), end)

    assert commands(cut) == commands(whole)
    assert cut.translate(None, b"\x1b\x07") == whole.translate(None, b"\x1b\x07")


@given(
    st.lists(st.one_of(_PIECES, st.sampled_from([b"\x00", b"\n", b"\x7f", b"\x1a"])), max_size=40), st.integers(1, 7)
)
def test_no_output_makes_a_terminal_obey_a_forbidden_command(letters: list[bytes], step: int) -> None:
    """FM-52, whatever the bytes and wherever they are cut."""
    output = b"".join(letters)
    shown = through(*(output[place : place + step] for place in range(0, len(output), step)), b"\x18")

    for command in commands(shown):
        number = command.partition(b";")[0]
        assert int(number) in {*KEPT, 8}
        if int(number) == 8:
            assert re.fullmatch(rb"0*8;[^;]*;(https?://.*)?", command)
