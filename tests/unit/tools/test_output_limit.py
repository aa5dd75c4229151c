"""Tool output is limited for the model, which learns where the full output is."""

import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bobstay.model.message import Image, ReplyPart, Text
from bobstay.tools.output_limit import limit_output, make_printable

CAP = 30_000


def text_of(parts: tuple[ReplyPart, ...]) -> str:
    assert all(isinstance(part, Text) for part in parts)
    return "\n".join(part.text for part in parts if isinstance(part, Text))


def test_what_fits_is_left_alone_and_nothing_is_written(tmp_path: Path) -> None:
    """H1-7"""
    assert limit_output("a\nb\n", CAP, tmp_path / "spill", "call") == ((Text("a\nb\n"),), "")
    assert not (tmp_path / "spill").exists()


@pytest.mark.parametrize(
    "whole",
    ["".join(f"line {number}\n" for number in range(1_000_000)), "x" * 10_000_000, "\n" * 10_000_000, "é\0" * 100_000],
    ids=["a million lines", "one line of 10 MB", "10 MB of empty lines", "NULs"],
)
def test_too_much_text_becomes_head_and_tail_and_a_file_with_the_whole(tmp_path: Path, whole: str) -> None:
    """H1-7, F23"""
    parts, path = limit_output(whole, CAP, tmp_path, "toolu_1")
    shown = text_of(parts)
    assert len(shown) <= CAP
    assert len(shown) >= CAP * 0.7
    assert Path(path).read_bytes() == whole.encode()
    assert path in shown
    assert f"{len(whole):,} characters" in shown
    clean = make_printable(whole)
    assert shown.startswith(clean[:10_000])
    assert shown.endswith(clean[-8_000:])
    assert "\0" not in shown


def test_the_cuts_fall_between_lines(tmp_path: Path) -> None:
    whole = "".join(f"<line {number}>\n" for number in range(10_000))
    parts, _ = limit_output(whole, CAP, tmp_path, "call")
    head, _, tail = text_of(parts).partition("\n\n[... ")
    assert head.endswith(">")
    assert tail.partition(" ...]\n\n")[2].startswith("<line ")


def test_what_is_said_to_be_missing_is_what_is_missing(tmp_path: Path) -> None:
    whole = "".join(f"{number}\n" for number in range(50_000))
    parts, _ = limit_output(whole, CAP, tmp_path, "call")
    shown = text_of(parts)
    head, _, rest = shown.partition("\n\n[... ")
    note, _, tail = rest.partition(" ...]\n\n")
    missing = int(note.partition(" ")[0].replace(",", ""))
    assert len(head) + missing + len(tail) == len(whole)
    assert whole.startswith(head)
    assert whole.endswith(tail)


def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        _, path = limit_output("x" * 100, 10, tmp_path / "made" / "on demand", "call")
    finally:
        os.umask(old)
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(path).parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("call_id", ["../../etc/passwd", "", "a/b", "\0", "é" * 500, "x" * 5000])
def test_a_hostile_call_id_never_leads_out_of_the_folder(tmp_path: Path, call_id: str) -> None:
    _, path = limit_output("x" * 100, 10, tmp_path, call_id)
    assert Path(path).parent == tmp_path
    assert Path(path).read_text() == "x" * 100


def test_an_existing_file_or_link_is_never_written_over(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    spill = tmp_path / "spill"
    spill.mkdir()
    (spill / "call.txt").symlink_to(victim)
    _, first = limit_output("1" * 100, 10, spill, "call")
    _, second = limit_output("2" * 100, 10, spill, "call")
    assert victim.read_text() == "precious"
    assert Path(first).read_text() == "1" * 100
    assert Path(second).read_text() == "2" * 100


def test_half_characters_are_made_printable(tmp_path: Path) -> None:
    parts, _ = limit_output("a\ud800b\0c", CAP, tmp_path, "call")
    assert text_of(parts) == "a\N{REPLACEMENT CHARACTER}b\N{SYMBOL FOR NULL}c"
    parts, path = limit_output("\udcff" * 100_000, CAP, tmp_path, "call")
    text_of(parts).encode()
    assert len(text_of(parts)) <= CAP
    assert Path(path).read_bytes().startswith(b"\\udcff")


def test_images_pass_and_texts_share_the_cap(tmp_path: Path) -> None:
    first, second = Image("image/png", "AAAA"), Image("image/png", "BBBB")
    content: tuple[ReplyPart, ...] = (first, Text("a" * 20_000), second, Text("b" * 20_000))
    parts, path = limit_output(content, CAP, tmp_path, "call")
    assert parts[0] == first
    assert parts[2] == second
    assert len(parts) == 3
    assert isinstance(parts[1], Text)
    assert len(parts[1].text) <= CAP
    assert Path(path).read_text() == "a" * 20_000 + "\n" + "b" * 20_000
    assert limit_output((first, Text("ok")), CAP, tmp_path, "call") == ((first, Text("ok")), "")


def test_a_folder_that_cannot_be_made_costs_the_file_but_not_the_answer(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    parts, path = limit_output("x" * 100_000, CAP, tmp_path / "file" / "spill", "call")
    assert path == ""
    assert "could not be saved" in text_of(parts)
    assert text_of(parts).startswith("x" * 1000)


def test_a_full_disk_costs_the_file_but_not_the_answer(tmp_path: Path) -> None:
    """A file size limit simulates the full disk; it applies to a child process only."""
    script = (
        "import resource, signal, sys; from pathlib import Path; from bobstay.tools.output_limit import limit_output\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
        "parts, path = limit_output('x' * 100_000, 30_000, Path(sys.argv[1]), 'call')\n"
        "assert path == '' and 'could not be saved' in parts[0].text and len(parts[0].text) > 20_000\n"
    )
    assert resource.RLIMIT_FSIZE >= 0
    environment = {"PYTHONPATH": str(Path(__file__).parents[3] / "src")}
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, env=environment)
    assert list(tmp_path.iterdir()) == []


@given(some.text(max_size=300) | some.text("\n\ud800\0a", max_size=300), some.integers(0, 50))
def test_every_text_is_bounded_and_can_be_sent(text: str, cap: int) -> None:
    parts, _ = limit_output(text, cap, Path("/dev/null/nowhere"), "call")
    shown = text_of(parts)
    shown.encode()
    assert "\0" not in shown
    assert len(shown) <= max(len(text), cap + 400)
