"""Expansion of commands: arguments, variables, inserts and mentions; arguments never become shell text (H9-3)."""

import re
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobstay.library.command_call import CommandCall, format_call, parse_call, split_arguments
from bobstay.library.command_text import Expansion, ShellInsert, expand_command
from bobstay.library.definition import CommandDefinition, DefinitionOrigin
from bobstay.library.mention import Mention
from bobstay.library.shell_substitution import ShellValue, UnsafeInsertError, substitute_in_shell


def expand(body: str, arguments: str = "", names: tuple[str, ...] = (), **variables: str) -> Expansion:
    command = CommandDefinition(name="c", kind="command", origin=DefinitionOrigin("user"), arguments=names)
    return expand_command(command, body, arguments, variables)


@pytest.mark.parametrize(
    ("body", "arguments", "text"),
    [
        ("all=<$ARGUMENTS>", 'red "two words"', 'all=<red "two words">'),
        ("all=<$ARGUMENTS>", "", "all=<>"),
        ("$0|$1|$ARGUMENTS[2]", 'red blue "two words"', "red|blue|two words"),
        ("<$0> <$3> <$ARGUMENTS[7]>", "a", "<a> <$3> <$ARGUMENTS[7]>"),
        ("<$10>", " ".join(map(str, range(12))), "<10>"),
        ("who=<$who> what=<$what> $whose", "Ann tea", "who=<Ann> what=<tea> $whose"),
        ("who=<$who> what=<$what>", "Ann", "who=<Ann> what=<>"),
        ("<$ARGUMENTSX>", "a", "<aX>"),
        (r"\$0 \$ARGUMENTS \$who $0", "a b", "$0 $ARGUMENTS $who a"),
        ("$0", "$1 $ARGUMENTS", "$1"),
        ("no position", "some text", "no position\n\nARGUMENTS: some text"),
        ("no position", "  ", "no position"),
        ("costs $5", "x", "costs $5\n\nARGUMENTS: x"),
        ("dir ${CLAUDE_PROJECT_DIR} ${CLAUDE_OTHER} $HOME", "", "dir /proj ${CLAUDE_OTHER} $HOME"),
        ("it", "don't", "it\n\nARGUMENTS: don't"),
        ("<$0> <$1>", "don't stop", "<don't> <stop>"),
    ],
)
def test_forms_are_replaced_by_their_values(body: str, arguments: str, text: str) -> None:
    assert expand(body, arguments, ("who", "what"), CLAUDE_PROJECT_DIR="/proj").join() == text


def test_a_skill_knows_its_folder_and_a_plugin_its_root() -> None:
    command = CommandDefinition(
        name="s",
        kind="skill",
        origin=DefinitionOrigin("plugin"),
        folder="/p/skills/s",
        variables={"CLAUDE_PLUGIN_ROOT": "/p"},
    )
    body = "${CLAUDE_SKILL_DIR} ${CLAUDE_PLUGIN_ROOT} !`${CLAUDE_SKILL_DIR}/run.sh`"
    expansion = expand_command(command, body)
    assert expansion.join(["OUT\n"]) == "/p/skills/s /p OUT"
    assert expansion.inserts[0].command == "/p/skills/s/run.sh"


def test_inserts_stand_at_the_start_or_after_white_space() -> None:
    body = "!`one` and !`two`\nx!`no` `!no` \\!`no`\n```!\nthree\nfour\n```\nend ```!no```"
    expansion = expand(body)
    assert [insert.command for insert in expansion.inserts] == ["one", "two", "three\nfour"]
    assert [insert.command for insert in expand("!`echo 1\necho 2`").inserts] == ["echo 1\necho 2"]
    assert [insert.written for insert in expansion.inserts][2] == "```!\nthree\nfour\n```"
    assert expansion.join(["1\n", "2", "3\n"]) == "1 and 2\nx!`no` `!no` \\!`no`\n3\nend ```!no```"


def test_every_insert_needs_its_output() -> None:
    with pytest.raises(ValueError, match="1 inserts"):
        expand("!`one`").join()


def test_an_argument_cannot_become_an_insert() -> None:
    assert expand("see $ARGUMENTS", "!`rm -rf x`").inserts == ()
    assert expand("see $0 $1", "! `rm`").inserts == ()


@pytest.mark.parametrize(
    ("insert", "command"),
    [
        ("echo $ARGUMENTS", "echo 'zz;' echo INJECTED"),
        ("echo '$ARGUMENTS'", "echo '''zz; echo INJECTED'''"),
        ('echo "<$0>"', 'echo "<"\'zz;\'">"'),
        ("echo $1", "echo echo"),
        ("git log --grep=$0", "git log --grep='zz;'"),
        ("awk '{print \\$1}'", "awk '{print $1}'"),
        ("echo $9 $HOME", "echo $9 $HOME"),
        ("git log $third $first", "git log  'zz;'"),
    ],
)
def test_values_in_an_insert_are_quoted_for_their_position(insert: str, command: str) -> None:
    names = ("first", "second", "other", "third")
    assert expand(f"!`{insert}`", "zz; echo INJECTED", names).inserts[0].command == command


@pytest.mark.parametrize(
    "insert",
    ['echo "$(cat $0)"', "cat <<EOF\n$0\nEOF", "echo $(( $0 ))", "echo ${x:-$0}", "echo $'$0'", "true # it's $0"],
)
def test_where_quoting_is_not_certain_only_plain_values_are_accepted(insert: str) -> None:
    body = f"```!\n{insert}\n```"
    assert "plain-1.txt" in expand(body, "plain-1.txt").inserts[0].command
    with pytest.raises(UnsafeInsertError, match=r"\$0 stands"):
        expand(body, "'$(id)'")


def test_too_many_inserts_are_refused() -> None:
    with pytest.raises(UnsafeInsertError, match="inserts"):
        expand("!`x` " * 1_000)


PLAIN = {"X": "X", '"X"': "X", "'X'": "X", '"a X b"': "a X b", "'a X b'": "a X b", "a\\ X": "a X", 'a"b"X': "abX"}
"""Templates, and what they are without their quotes."""


@given(
    template=st.sampled_from(sorted(PLAIN)),
    value=st.text(st.sampled_from("ab \t\n'\"\\$`;&|<>(){}[]*?!#~=%-,é"), max_size=20),
)
@settings(max_examples=60, deadline=None)
def test_a_shell_receives_exactly_the_value(template: str, value: str) -> None:
    form = re.compile(r"\$X")
    command = substitute_in_shell(template.replace("X", "$X"), form, lambda _: ShellValue(value))
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {command}; exit 7"], capture_output=True, check=False)
    assert done.returncode == 7, done.stderr
    assert done.stdout.decode() == PLAIN[template].replace("X", value) + "\0"


@given(
    template=st.lists(
        st.sampled_from(["$X", "'", '"', "\\", " ", "`", "$(", ")", "${", "}", "#", "<<E", "\n", "a", ";", "$'", "(("]),
        min_size=1,
        max_size=10,
    ),
    value=st.sampled_from(["$(touch MARK)", "`touch MARK`", "'; touch MARK;'", '"; touch MARK;"', "\ntouch MARK\n"]),
)
@settings(max_examples=150, deadline=None)
def test_no_position_in_a_command_makes_a_value_run(
    template: list[str], value: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "marks"
    folder.mkdir(exist_ok=True)
    try:
        command = substitute_in_shell("".join(template), re.compile(r"\\?\$X"), lambda _: ShellValue(value))
    except UnsafeInsertError:
        return
    subprocess.run(
        ["bash", "-c", f"echo {command}"], cwd=folder, capture_output=True, check=False, stdin=subprocess.DEVNULL
    )
    assert not (folder / "MARK").exists(), command


@given(body=st.text(st.sampled_from("!`$01\\{}ARGUMENTS[]@ \n\"'abc"), max_size=80), arguments=st.text(max_size=30))
@settings(max_examples=300, deadline=None)
def test_expansion_never_fails_otherwise_and_keeps_the_order(body: str, arguments: str) -> None:
    try:
        expansion = expand(body, arguments, ("a",))
    except UnsafeInsertError:
        return
    assert isinstance(expansion.join(["x"] * len(expansion.inserts)), str)
    assert all(isinstance(piece, str | ShellInsert) for piece in expansion.pieces)
    if "$" not in body and not arguments.strip():
        assert expansion.join([insert.written for insert in expansion.inserts]).strip("\n") == body.strip("\n")


def test_hostile_bodies_are_expanded_in_linear_time() -> None:
    for piece in ("```!\n", "!`", "!`a` `", "$ARGUMENTS[", "@", '@"', "\\$"):
        body = piece * (200_000 // len(piece))
        try:
            expand(body, "x")
        except UnsafeInsertError as error:
            assert "inserts" in str(error)  # noqa: PT017 - either is fine, as long as it is quick


def test_mentions_of_a_command_come_from_its_text_and_its_arguments_but_not_from_inserts() -> None:
    expansion = expand("see @data.txt $ARGUMENTS !`cat @no`@also-no", "@more.txt")
    assert expansion.mentions == (Mention("data.txt"), Mention("more.txt"))


# ---------------------------------------------------------------- calls


@pytest.mark.parametrize(
    ("prompt", "call"),
    [
        ("/hello a b ", CommandCall("hello", "a b")),
        ("/front:comp", CommandCall("front:comp")),
        ("/x\nline\nline", CommandCall("x", "line\nline")),
        (" /hello", None),
        ("hello /x", None),
        ("/", None),
        ("/ x", None),
        ("", None),
    ],
)
def test_a_prompt_is_a_call_if_it_begins_with_a_slash(prompt: str, call: CommandCall | None) -> None:
    assert parse_call(prompt) == call


def test_the_model_is_told_which_command_was_called() -> None:
    text = "<command-message>hello</command-message>\n<command-name>/hello</command-name>"
    assert format_call(CommandCall("hello")) == text
    assert format_call(CommandCall("hello", "a b")) == f"{text}\n<command-args>a b</command-args>"


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("red \"two words\" 'three more words'", ["red", "two words", "three more words"]),
        ("--x='a b' it's fine", ["--x=a b", "it's", "fine"]),
        ('"unclosed x', ['"unclosed', "x"]),
        ('"a \\"b\\"" a\\ b ""', ['a "b"', "a b", ""]),
        ("  ", []),
    ],
)
def test_arguments_are_split_as_a_shell_does(text: str, split: list[str]) -> None:
    assert list(split_arguments(text)) == split
