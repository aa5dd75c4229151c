"""The prompt of print mode from the command line and from a pipe."""

import os
from collections.abc import Iterator

import pytest

from bobstay.cli import stdin_prompt
from bobstay.cli.flag_parser import UsageError
from bobstay.cli.stdin_prompt import read_prompt


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    source, sink = os.pipe()
    yield source, sink
    for descriptor in (source, sink):
        try:
            os.close(descriptor)
        except OSError:
            continue


def filled(pipe: tuple[int, int], data: bytes) -> int:
    source, sink = pipe
    os.write(sink, data)
    os.close(sink)
    return source


def test_the_prompt_may_come_from_a_pipe(pipe: tuple[int, int]) -> None:
    assert read_prompt(None, filled(pipe, b"do it\n")) == "do it"


def test_an_argument_stands_before_what_was_piped(pipe: tuple[int, int]) -> None:
    assert read_prompt("summarise", filled(pipe, b"line 1\nline 2\n")) == "summarise\nline 1\nline 2"


def test_an_empty_pipe_adds_nothing(pipe: tuple[int, int]) -> None:
    assert read_prompt("go", filled(pipe, b"")) == "go"


def test_without_any_words_there_is_nothing_to_do(pipe: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match="through stdin or as a prompt argument"):
        read_prompt(None, filled(pipe, b" \n"))


def test_a_pipe_nobody_writes_to_does_not_hold_up_a_prompt(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stdin_prompt, "FIRST_BYTE_TIMEOUT", 0.05)
    assert read_prompt("go", pipe[0]) == "go"
    assert "/dev/null" in capsys.readouterr().err


def test_a_closed_stdin_is_no_error(pipe: tuple[int, int]) -> None:
    os.close(pipe[0])
    assert read_prompt("go", pipe[0]) == "go"


def test_bytes_that_are_no_text_are_replaced(pipe: tuple[int, int]) -> None:
    assert read_prompt(None, filled(pipe, b"a\xffb")) == "a\ufffdb"


def test_too_much_is_refused(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdin_prompt, "LIMIT", 10)
    with pytest.raises(UsageError, match="Save it as a file"):
        read_prompt(None, filled(pipe, b"x" * 11))
