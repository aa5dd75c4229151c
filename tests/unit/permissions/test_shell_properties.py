"""Properties of any shell text: added rules change decisions in one direction, and no text makes the policy fail."""

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from bobstay.permissions.path_resolution import FileSystemView
from bobstay.permissions.policy_case import decide
from bobstay.permissions.shell import analyze
from bobstay.permissions.shell.parser import parse
from bobstay.permissions.shell.second_parser import agrees, is_trivial
from bobstay.permissions.shell.syntax import NotUnderstood
from tests.kit.processor_work import multiples
from tests.kit.waiting import DEADLINE
from tests.unit.permissions.policy_kit import ALLOW, ASK, DENY, HOME, ROOT, effect

SIGNS = """ls cat rm -rf src a.txt git status push -C . echo $x "$x" ${x} ${x:-y} $(ls) $(rm) `pwd` 'a' "c" * ? {a,b}
> >> < 2>&1 &> /dev/null f && || ; | & ( ) { } ! if then fi for in do done case esac while cd .. / ~ <(ls) <<< <<EOF
X=1 CI=1 PATH=. timeout 5 nice stdbuf --out=L -n -- - sudo env bash -c find -exec {} + \\; xargs -I{} -0
[ ] [[ ]] = == -f \\ # $((1+2)) $((x)) secrets/k"""
ODD = ["\n", "\t", "\\\n", "\nEOF\n", "'", '"', "$'\\x72m'", "\r", "\0", "\u200b", "\u00e9"]
PIECES = st.sampled_from([*SIGNS.split(), *ODD])
COMMANDS = st.one_of(
    st.lists(PIECES, max_size=12).map(" ".join), st.lists(PIECES, max_size=8).map("".join), st.text(max_size=30)
)
RULE = """Bash;Bash(ls *);Bash(rm *);Bash(git *);Bash(echo *);Bash(*);Bash(cat secrets/k);Edit(**);Read(./secrets/**);
Edit(f);Bash(git push:*);Bash(* src)"""
RULES = st.lists(st.sampled_from(RULE.replace("\n", "").split(";")), max_size=3).map(tuple)
PLAIN = "ls  -a  a=b  'c; d'  \"e|f\"  x/y  5  @  %  time  if  [  :  --"
MORE = st.sampled_from(["; rm -rf /", " $(rm x)", "\nrm -rf /", " && curl x", " | sh", " > f", "; f() { ls; }"])


def view() -> FileSystemView:
    return FileSystemView(ROOT, HOME, readlink=lambda _: None)


@given(COMMANDS)
@example("$(" * 5000)
@example("a" * 10_001)
@example("\ud800")
def test_any_text_is_read(command: str) -> None:
    analysis = analyze(command, ROOT, view())
    assert analysis.rule_texts
    assert bool(analysis.trouble) or not analysis.certain or analysis.text == command.strip(" \t\n")


@given(COMMANDS, RULES, RULES, st.sampled_from(["Bash(rm *)", "Bash", "Bash(ls)", "Read(./secrets/**)", "Edit(**)"]))
def test_one_more_deny_rule_never_makes_a_decision_laxer(
    command: str, allow: tuple[str, ...], deny: tuple[str, ...], more: str
) -> None:
    before = effect("Bash", command, allow=allow, deny=deny)
    assert effect("Bash", command, allow=allow, deny=(*deny, more)) >= before


@given(COMMANDS, RULES, RULES, st.sampled_from(["Bash(rm *)", "Bash", "Bash(ls)", "Read(./secrets/**)", "Edit(**)"]))
def test_one_more_allow_rule_never_lifts_a_denial(
    command: str, allow: tuple[str, ...], deny: tuple[str, ...], more: str
) -> None:
    before = effect("Bash", command, allow=allow, deny=deny)
    assert before is not DENY or effect("Bash", command, allow=(*allow, more), deny=deny) is DENY


def allowed_cases() -> list[dict[str, Any]]:
    """Recorded commands that are allowed by rules that cover only these commands."""
    folder = Path(__file__).parents[2] / "security" / "corpus"
    lines = [line for name in ("corpus.jsonl", "more.jsonl") for line in (folder / name).read_bytes().splitlines()]
    found = [case for line in lines if (case := msgspec.json.decode(line))["expect"] == "allow"]
    return [case for case in found if case["tool"] == "Bash" and not _is_open_ended(case)]


def _is_open_ended(case: dict[str, Any]) -> bool:
    """Whether appended text would belong to a comment or a here-document, or be allowed as well."""
    return any(sign in case["command"] for sign in ("#", "<<")) or any(
        rule in ("Bash", "Bash(*)", "Bash(rm *)") or rule.startswith("Edit") for rule in case["rules"]["allow"]
    )


@given(st.sampled_from(allowed_cases()), MORE)
def test_what_is_appended_to_an_allowed_command_is_seen(case: dict[str, Any], more: str) -> None:
    assert decide(case)[0] == "allow"
    assert decide({**case, "command": case["command"] + more})[0] != "allow"


@given(st.lists(st.sampled_from(["plain", "single", "double", "escaped", "coded", "split"]), min_size=2, max_size=2))
def test_quoting_does_not_hide_a_denied_command(ways: list[str]) -> None:
    spelled = "".join(quoted(letter, way) for letter, way in zip("rm", ways, strict=True))
    assert effect("Bash", f"{spelled} -rf src", allow=("Bash",), deny=("Bash(rm *)",)) is DENY


def quoted(letter: str, way: str) -> str:
    return {
        "plain": letter,
        "single": f"'{letter}'",
        "double": f'"{letter}"',
        "escaped": f"\\{letter}",
        "coded": f"$'\\x{ord(letter):02x}'",
        "split": f"''{letter}\"\"",
    }[way]


@given(st.lists(st.sampled_from(PLAIN.split("  ")), min_size=1, max_size=8))
def test_trivial_text_is_parsed_the_same_by_both_parsers(words: list[str]) -> None:
    text = " ".join(words)
    assume(is_trivial(text))
    try:
        script, trouble = parse(text)
    except NotUnderstood:
        return
    assert trouble or agrees(text, script)


@given(COMMANDS)
def test_read_only_implies_allowed(command: str) -> None:
    analysis = analyze(command, ROOT, view())
    if analysis.commands and analysis.read_only and not analysis.targets and not analysis.critical:
        assert effect("Bash", command) is ALLOW


MEGABYTE = 1_000_000
HUGE: dict[str, str] = {
    "one word": "echo " + "a" * MEGABYTE,
    "words": "echo " + "a " * (MEGABYTE // 2),
    "commands": "a;" * (MEGABYTE // 2),
    "single quotes": "'" * MEGABYTE,
    "double quotes": '"' * (MEGABYTE - 1),
    "brackets": "(" * MEGABYTE,
    "substitutions": "$(" * (MEGABYTE // 2),
    "expansions": "${" * (MEGABYTE // 2),
    "backticks": "`" * MEGABYTE,
    "backslashes": "\\" * MEGABYTE,
    "wrappers": "sudo -x " * (MEGABYTE // 8),
    "git": "env git -C x " * (MEGABYTE // 13),
    "NUL": "\0" * MEGABYTE,
    "surrogates": "\ud800" * MEGABYTE,
    "here-documents": "<<A " * (MEGABYTE // 4),
}


@pytest.mark.parametrize("shape", HUGE)
def test_a_megabyte_is_asked_about_in_bounded_time(shape: str) -> None:
    began = time.process_time()
    assert effect("Bash", HUGE[shape], allow=("Bash",), deny=("Bash(rm *)", "Bash(*a*b*c*d)")) is ASK
    assert time.process_time() - began < DEADLINE


def test_a_denied_command_behind_a_megabyte_is_denied() -> None:
    rules: dict[str, Any] = {"allow": ("Bash",), "deny": ("Bash(rm *)",)}
    assert effect("Bash", "echo " + "a" * MEGABYTE + "; rm x", **rules) is DENY
    assert effect("Bash", "echo " + "$(" * 5000 + "rm x" + ")" * 5000, **rules) is DENY
    assert effect("Bash", "env " + "-a b " * 1500 + "rm x", **rules) is DENY
    assert effect("Bash", "timeout 5 " * 800 + "rm x", **rules) is DENY


TEN_KILOBYTES: dict[str, str] = {
    "words": "echo " + "a " * 4990,
    "pipes": "ls|" * 3300 + "ls",
    "commands": "ls;" * 3333,
    "wrappers": "timeout 5 " * 990 + "ls",
    "substitutions": "echo " + "$(ls)" * 1990,
    "paths": "cat " + "a/b/c/d " * 1240,
    "braces": "echo " + "{a,b} " * 1660,
    "loop": "for i in " + "a " * 4900 + "; do cat $i; done",
    "moves": "cd a;" * 1990,
    "targets": "ls " + "> a " * 2400,
    "globs": "ls " + "* " * 4900,
    "tests": "[ " + "a -a " * 1990 + "a ]",
    "removals": "rm " + "a " * 4990,
    "script": "sed -n '" + "p;" * 4900 + "' a",
    "document": "cat <<EOF\n" + "x $(ls)\n" * 1100 + "EOF",
}


@pytest.mark.parametrize("shape", TEN_KILOBYTES)
def test_ten_kilobytes_take_little_time(shape: str) -> None:
    """The limit is 50 ms on an idle machine, about 330 times the reference workload; a mistake takes seconds."""
    rules: dict[str, Any] = {"allow": ("Bash",), "deny": ("Bash(zz *)", "Read(./secrets/**)")}
    assert multiples(lambda: effect("Bash", TEN_KILOBYTES[shape], **rules)) <= 1000
