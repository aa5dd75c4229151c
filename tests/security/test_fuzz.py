"""Commands that the permission policy allows do no harm: a short run of the fuzzer, and tests that it detects harm."""

import os
import re
import sys
from collections.abc import Iterator
from random import Random

import pytest

from tests.fuzz import fixture_tree
from tests.fuzz.campaign import Campaign
from tests.fuzz.generator import Generator
from tests.fuzz.minimise import minimise
from tests.fuzz.oracle import holes
from tests.fuzz.rule_sets import Bench, Judge, RuleSet, draw, policy_bench
from tests.fuzz.sandbox import Sandbox, SandboxError, _arguments

EXECUTED = 1_000
RUNS = 8
"""The drawn commands depend on what the policy allows, so one run may miss a narrow hole by chance."""
LEAST_SHARE = 20.0
SEED_IN_CI = "20261116"
"""Continuous integration runs the same commands each time, so that a change fails only for its own mistakes."""
SEED = os.environ.get("BOBSTAY_FUZZ_SEED") or (
    SEED_IN_CI if os.environ.get("CI") else str(int.from_bytes(os.urandom(4)))
)
LONGEST = 300
"""Seconds that one run may take on a busy machine; on an idle one it takes less than ten."""
HARM = {
    "marker x": "ran ['/usr/bin/marker', 'x']",
    "/bin/rm -rf src": "ran ['/bin/rm', '-rf', 'src']",
    "./evil.sh": "ran ['./evil.sh']",
    "PATH=evil:$PATH; ls": "ran ['evil/ls']",
    "env marker": "ran ['/usr/bin/marker']",
    "echo $((x))": "ran ['/usr/bin/marker', 'arithmetic']",
    "echo ${ps@P}": "ran ['/usr/bin/marker', 'prompt']",
    "sort --compress-program=marker -S1 --batch-size=2 f; (sleep 0; marker) &": "ran ['/usr/bin/marker']",
    "git cat-file --filters HEAD:data.smudged": "ran ['/usr/bin/marker', 'smudge']",
    "awk 'BEGIN{system(\"marker\")}'": "ran ['/usr/bin/marker']",
    "echo x > pwned": f"changed {fixture_tree.ROOT}/pwned",
    "sed -i s/a/b/ f": f"changed {fixture_tree.ROOT}/f",
    "find . -delete": f"changed {fixture_tree.ROOT}/.git/HEAD",
    "cd odd && sort *.txt": f"changed {fixture_tree.ROOT}/odd/pwned.txt",
    "echo x > docs/out.txt": f"changed {fixture_tree.HOME}/notes.txt",
    "echo x > /pwned": "changed /pwned",
    "cat ../other/b.txt": "read /srv/other/b.txt",
    "rev link/notes.txt": f"read {fixture_tree.HOME}/notes.txt",
    "ls ~": f"read {fixture_tree.HOME}",
    "seq ../*": "read /srv",
    "echo $(echo '../*')": "read /srv",
    "cat < /dev/tcp/127.0.0.1/8080": "connected to the loopback",
    "echo x > /dev/udp/127.0.0.1/8080": "connected to the loopback",
    "git fetch": "connected to the loopback",
}
HARMLESS = (
    "ls -la",
    "git status",
    "git diff --stat",
    "git describe --dirty --always",
    "git log -p",
    "grep -rn TODO .",
    "egrep x f",
    "which ls",
    "cat <<EOF\nx\nEOF",
    "file README.md",
    "find . -name x | xargs cat",
)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    try:
        sandbox = Sandbox()
    except SandboxError as error:
        pytest.fail(str(error), pytrace=False)
    with sandbox:
        yield sandbox


@pytest.mark.timeout(LONGEST)
def test_nothing_the_policy_allows_does_what_nobody_permitted(
    sandbox: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    """A new seed each run, so that every run tests other commands; BOBSTAY_FUZZ_SEED repeats one."""
    tally = Campaign(sandbox, SEED).run(EXECUTED)
    with capsys.disabled():
        print(f"\n{tally}", file=sys.stderr)
    assert not tally.holes, "\n".join(map(str, [*tally.holes, tally]))
    assert tally.executed == EXECUTED
    assert tally.share >= LEAST_SHARE, f"too little is allowed to show anything: {tally}"


@pytest.mark.parametrize("command", HARM)
def test_harm_is_seen(sandbox: Sandbox, command: str) -> None:
    assert HARM[command] in holes(sandbox.run(command), RuleSet())
    assert sandbox.run("true") == {}, "the file tree was not restored"


@pytest.mark.parametrize("command", HARMLESS)
def test_looking_is_no_harm(sandbox: Sandbox, command: str) -> None:
    assert holes(sandbox.run(command), RuleSet()) == []


def test_rules_decide_what_is_harm(sandbox: Sandbox) -> None:
    npm = sandbox.run("npm run test -- -x")
    assert not holes(npm, RuleSet(allow=("Bash(npm run test:*)",)))
    assert holes(npm, RuleSet(allow=("Bash(npm run lint *)",)))
    assert holes(npm, RuleSet(allow=("Bash(npm run test:*)",), ask=("Bash(npm run test -- -x)",)))
    written = sandbox.run("echo x > docs/new.txt")
    assert not holes(written, RuleSet(allow=("Edit(docs/**)",)))
    assert holes(written, RuleSet(allow=("Edit(/logs/**)",)))
    secret = sandbox.run("cat docs/hidden/key.pem")
    assert not holes(secret, RuleSet())
    assert holes(secret, RuleSet(deny=("Read(./secrets/**)",)))
    listed = sandbox.run("cargo build ../*")
    assert not holes(listed, RuleSet(allow=("Bash(cargo build:*)",)))
    assert holes(listed, RuleSet(allow=("Bash(cargo build)",)))
    assert "read /srv" in holes(sandbox.run("cargo build; seq ../*"), RuleSet(allow=("Bash(cargo build:*)",)))
    assert holes(sandbox.run("cargo build ../*; cat ../other/*"), RuleSet(allow=("Bash(cargo build:*)",)))
    denied = sandbox.run("nice rm x")
    assert holes(denied, RuleSet(allow=("Bash",), deny=("Bash(rm:*)",)))
    assert not holes(denied, RuleSet(allow=("Bash",), deny=("Bash(curl *)",)))


def trusts_sort(rule_set: RuleSet) -> Judge:
    """As if every option of sort only read."""
    real = policy_bench(rule_set)
    return lambda command: bool(re.fullmatch(r"sort( [\w./=:~-]+)*", command)) or real(command)


def blind_in_double_quotes(rule_set: RuleSet) -> Judge:
    """As if nothing in double quotes could run."""
    real = policy_bench(rule_set)
    return lambda command: real(re.sub(r'"[^"]*"', "x", command))


def sees_the_first_command_only(rule_set: RuleSet) -> Judge:
    """As if nothing but `&&` separated commands."""
    real = policy_bench(rule_set)
    return lambda command: all(real(re.split(r"[;|\n]", part)[0]) for part in command.split("&&"))


def overlooks_redirections(rule_set: RuleSet) -> Judge:
    """As if `>` and `>|` did not write."""
    real = policy_bench(rule_set)
    return lambda command: real(re.sub(r">\|? *\w+", "", command))


def follows_no_links(rule_set: RuleSet) -> Judge:
    """As if a link were an ordinary file."""
    real = policy_bench(rule_set)
    return lambda command: real(re.sub(r"\b(link|up|docs/out.txt)\b", "src", command))


def forgets_denials(rule_set: RuleSet) -> Judge:
    """As if what is allowed were never denied."""
    return policy_bench(rule_set._replace(deny=()))


@pytest.mark.timeout(LONGEST)
@pytest.mark.parametrize(
    "bench",
    [
        trusts_sort,
        blind_in_double_quotes,
        sees_the_first_command_only,
        overlooks_redirections,
        follows_no_links,
        forgets_denials,
    ],
)
def test_a_planted_hole_is_found_in_a_few_runs(sandbox: Sandbox, bench: Bench) -> None:
    runs = (Campaign(sandbox, f"planted {number}", bench).run(EXECUTED, most_holes=1) for number in range(RUNS))
    hole = next((hole for tally in runs for hole in tally.holes), None)
    assert hole is not None, bench.__doc__
    assert repr(hole.command) in str(hole)
    assert not policy_bench(hole.rule_set)(hole.command), f"this one was not planted: {hole}"


def test_the_same_seed_draws_the_same_commands() -> None:
    def drawn(seed: str) -> list[str]:
        dice = Random(seed)
        generator = Generator(dice, draw(dice))
        return [generator.command() for _ in range(300)]

    assert drawn("7") == drawn("7") != drawn("8")


def test_a_judge_that_allows_nothing_does_not_keep_the_fuzzer_for_ever(sandbox: Sandbox) -> None:
    tally = Campaign(sandbox, "7", lambda _: lambda _: False).run(10)
    assert (tally.executed, tally.share) == (0, 0.0)


def test_a_judge_that_fails_is_a_hole(sandbox: Sandbox) -> None:
    def judge(command: str) -> bool:
        raise UnicodeError(command)

    tally = Campaign(sandbox, "7", lambda _: judge).run(10)
    assert ["UnicodeError" in hole.evidence[0] for hole in tally.holes] == [True]


def test_a_hole_is_cut_down_to_what_it_needs() -> None:
    found = minimise("ls -la | head; marker x && echo 'a b' # end", lambda command: "; marker" in command)
    assert found == "; marker"


def test_a_missing_sandbox_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SandboxError, match="install the package `bubblewrap`"):
        _arguments()
