"""Print mode as shells and scripts use it: output and exit code of the real program."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.kit.installed_command import InstalledCommand
from tests.kit.program import BOBSTAY, environment
from tests.kit.waiting import DEADLINE
from tests.modelserver import Call, Gate, ModelServer, Say, Step
from tests.wire.flows import say, touch

TOOLS = Step(
    blocks=[Say("Two at once."), Call("Bash", {"command": "echo 1"}, "t1"), Call("Bash", {"command": "echo 2"}, "t2")]
)


def test_text_is_the_last_words_and_a_newline(model: ModelServer, command: InstalledCommand) -> None:
    ended = command.run("-p", model.play("t", TOOLS, say("Both done.")))
    assert (ended.stdout, ended.stderr, ended.returncode) == ("Both done.\n", "", 0)


def test_the_prompt_may_be_piped(model: ModelServer, command: InstalledCommand) -> None:
    assert command.run("-p", stdin=model.play("t", say("Read it."))).stdout == "Read it.\n"
    assert command.run("-p", "Look:", stdin=model.play("t", say("Read it."))).stdout == "Read it.\n"
    asked = json.dumps(model.requests[-1].body["messages"])
    assert "Look:\\nSCN:t" in asked


def test_json_is_one_result(model: ModelServer, command: InstalledCommand) -> None:
    ended = command.run("-p", "--output-format", "json", model.play("t", TOOLS, say("Both done.")))
    assert ended.stdout.count("\n") == 1
    result = json.loads(ended.stdout)
    assert (result["type"], result["result"], result["num_turns"], result["is_error"]) == (
        "result",
        "Both done.",
        3,
        False,
    )


def test_verbose_json_is_an_array_of_all_frames(model: ModelServer, command: InstalledCommand) -> None:
    frames = json.loads(command.run("-p", "--output-format", "json", "--verbose", model.play("t", say("Hi."))).stdout)
    assert [frame["type"] for frame in frames] == ["system", "assistant", "result"]


@pytest.mark.parametrize("verbose", [False, True])
def test_json_has_the_whole_answer_however_long_it_is(
    model: ModelServer, command: InstalledCommand, verbose: bool
) -> None:
    """The limit of a line is one of hosts that read a stream; a whole document has none."""
    answer = "0123456789abcdef" * (3 * 1024 * 1024 // 16)
    flags = ["--verbose"] if verbose else []
    output = json.loads(command.run("-p", "--output-format", "json", *flags, model.play("t", say(answer))).stdout)
    assert (output[-1] if verbose else output)["result"] == answer


def test_stream_json_has_no_control_traffic(model: ModelServer, command: InstalledCommand) -> None:
    ended = command.run("-p", "--output-format", "stream-json", "--verbose", model.play("t", TOOLS, say("Done.")))
    types = [json.loads(line)["type"] for line in ended.stdout.splitlines()]
    assert types == ["system", "assistant", "assistant", "assistant", "user", "user", "assistant", "result"]


def test_an_api_error_goes_to_stdout_and_fails(model: ModelServer, command: InstalledCommand) -> None:
    token = model.play("t", Step(status=400, message="bad thing"))
    ended = command.run("-p", token)
    assert ended.returncode == 1
    assert "bad thing" in ended.stdout
    result = json.loads(command.run("-p", "--output-format", "json", token).stdout)
    assert (result["subtype"], result["is_error"], result["api_error_status"]) == ("success", True, 400)


def test_a_limit_is_an_error_on_stdout(model: ModelServer, command: InstalledCommand) -> None:
    token = model.play("t", TOOLS, say("never"))
    ended = command.run("-p", "--max-turns", "1", token)
    assert (ended.stdout, ended.returncode) == ("Error: Reached max turns (1)\n", 1)
    result = json.loads(command.run("-p", "--output-format", "json", "--max-turns", "1", token).stdout)
    assert (result["subtype"], result["errors"]) == ("error_max_turns", ["Reached maximum number of turns (1)"])
    assert "result" not in result


def test_structured_output_is_printed_as_json(model: ModelServer, command: InstalledCommand) -> None:
    schema = '{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}'
    token = model.play("t", Step(blocks=[Call("StructuredOutput", {"name": "Ada"}, "t1")]))
    result = json.loads(command.run("-p", "--output-format", "json", "--json-schema", schema, token).stdout)
    assert result["structured_output"] == {"name": "Ada"}
    assert json.loads(result["result"]) == {"name": "Ada"}


def test_a_schema_that_nothing_can_fit_is_refused_before_a_model_is_asked(
    model: ModelServer, command: InstalledCommand
) -> None:
    schema = '{"type":"object","properties":{"name":{"type":"strnig"}}}'
    ended = command.run("-p", "--json-schema", schema, model.play("t", say("Hello.")))
    assert (ended.returncode, ended.stdout, model.requests) == (1, "", [])
    assert "--json-schema" in ended.stderr
    assert "'strnig' is not valid" in ended.stderr
    assert "(at properties/name/type)" in ended.stderr


def test_nothing_is_done_that_nobody_could_be_asked_about(
    model: ModelServer, command: InstalledCommand, tmp_path: Path
) -> None:
    command.run("-p", model.play("t", touch(), say("Done.")))
    assert not (tmp_path / "work" / "made.txt").exists()
    command.run("-p", "--allowedTools", "Bash(touch:*)", "--", model.play("t", touch(), say("Done.")))
    assert (tmp_path / "work" / "made.txt").exists()


def test_an_unknown_session_is_an_error_without_output(command: InstalledCommand) -> None:
    ended = command.run("-p", "--resume", "00000000-0000-4000-8000-000000000001", "x")
    assert (ended.stdout, ended.returncode) == ("", 1)
    assert ended.stderr == "No conversation found with session ID: 00000000-0000-4000-8000-000000000001\n"


def test_sessions_can_be_listed_continued_and_not_taken_twice(model: ModelServer, command: InstalledCommand) -> None:
    chosen = "00000000-0000-4000-8000-00000000000a"
    command.run("-p", "--session-id", chosen, model.play("a", say("First.")))
    listed = command.run("sessions").stdout
    assert chosen in listed
    assert "SCN:a" in listed
    assert command.run("-p", "-c", model.play("b", say("Second."))).stdout == "Second.\n"
    assert "First." in json.dumps(model.requests[-1].body["messages"])
    again = command.run("-p", "--session-id", chosen, "x")
    assert (again.stdout, again.returncode) == ("", 1)
    assert chosen in again.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_run_in_good_order(
    number: signal.Signals, code: int, model: ModelServer, command: InstalledCommand
) -> None:
    """F3: the conversation so far is in the log, and the session can be resumed."""
    gate = Gate()
    chosen = "00000000-0000-4000-8000-00000000000b"
    token = model.play("slow", Step(blocks=[Say("half "), Say("never")], gate=gate, gate_after=1))
    process = command.start("-p", "--output-format", "json", "--session-id", chosen, token)
    gate.wait_reached()
    process.send_signal(number)
    out, err = process.communicate(timeout=200)
    gate.open()
    assert process.returncode == code
    assert "Traceback" not in err
    assert json.loads(out)["terminal_reason"] == "aborted_streaming"
    assert command.run("-p", "--resume", chosen, model.play("b", say("Again."))).stdout == "Again.\n"
    assert "interrupted by user" in json.dumps(model.requests[-1].body["messages"])


def test_a_reader_that_goes_away_is_no_drama(model: ModelServer, command: InstalledCommand) -> None:
    gate = Gate()
    token = model.play("t", Step(blocks=[Say("Hello.")], gate=gate))
    process = command.start("-p", "--output-format", "stream-json", "--verbose", token)
    assert process.stdout is not None
    assert process.stderr is not None
    gate.wait_reached()
    process.stdout.close()
    gate.open()
    assert process.stderr.read() == ""
    process.stderr.close()
    process.wait(timeout=200)


def test_twenty_thousand_pieces_pass_quickly(model: ModelServer, command: InstalledCommand) -> None:
    token = model.play("t", Step(blocks=[Say("word " * 20_000)], chunk=5))
    began = time.monotonic()
    ended = command.run("-p", token)
    assert ended.stdout.count("word") == 20_000
    assert time.monotonic() - began < DEADLINE


def test_print_mode_imports_nothing_heavy(model: ModelServer, tmp_path: Path) -> None:
    """H4-1: no part of a face that is not used, and no library that is not needed."""
    script = (
        "import sys\nfrom bobstay.cli.main import run\n"
        f"code = run(['-p', {model.play('t', say('Hi.'))!r}])\n"
        "print(*sys.modules, file=sys.stderr)\nsys.exit(code)"
    )
    ended = subprocess.run(
        [os.path.join(os.path.dirname(BOBSTAY), "python"), "-c", script],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        cwd=tmp_path,
        env=environment(model, tmp_path / "home"),
        timeout=200,
        check=False,
    )
    assert ended.stdout == "Hi.\n"
    modules = set(ended.stderr.split())
    unwanted = {
        "PIL",
        "pypdfium2",
        "jsonschema",
        "argparse",
        "dataclasses",
        "html",
        "difflib",
        "http",
        "pydantic",
    }
    assert not modules & unwanted
    assert (
        not {"bobstay.print_mode.host_server", "bobstay.print_mode.host_approver", "bobstay.wire.control_channel"}
        & modules
    )
