"""The benchmark of decisions: what it counts, when it says that a limit holds, and what it leaves alone."""

import subprocess
import sys
from pathlib import Path

from benchmarks.decisions import LIMIT_TEN_KILOBYTES, Spread, cases, limits, shapes, spread
from benchmarks.page import DECISIONS, with_decisions, with_measures

ROOT = Path(__file__).parents[3]


def test_a_spread_names_the_middle_the_ninety_ninth_percentile_and_the_worst() -> None:
    assert spread([each / 1000 for each in range(100, 0, -1)]) == Spread(median=0.0505, p99=0.099, worst=0.1)
    assert spread([0.25]) == Spread(0.25, 0.25, 0.25)


def test_a_limit_that_is_passed_is_said_to_be_missed() -> None:
    good = limits(Spread(0.0004, 0.004, 0.02), {"pipes": 0.03, "words": 0.049})
    assert [each.met for each in good] == [True, True, True]
    bad = limits(Spread(0.0006, 0.006, 0.02), {"pipes": 0.03, "words": 0.051})
    assert [each.met for each in bad] == [False, False, False]
    assert "words" in bad[2].text


def test_large_commands_are_as_large_as_the_policy_still_reads() -> None:
    for name, command in shapes().items():
        assert 9_800 <= len(command) <= 10_000, name
    assert len(shapes()) >= 10
    assert LIMIT_TEN_KILOBYTES == 0.05


def test_cases_are_those_of_the_tests() -> None:
    found = cases()
    assert len(found["corpus"]) == 524
    assert {"Bash", "Read", "Edit", "WebFetch"} <= {case["tool"] for case in found["corpus"]}


def test_each_author_of_the_results_leaves_the_others_part() -> None:
    page = with_decisions("# Benchmarks\n\nold\n", f"{DECISIONS}\n\nnew numbers\n")
    assert page == f"# Benchmarks\n\nold\n\n{DECISIONS}\n\nnew numbers\n"
    assert with_measures(page, "# Benchmarks\n\nnewer\n") == f"# Benchmarks\n\nnewer\n\n{DECISIONS}\n\nnew numbers\n"
    assert with_decisions(page, f"{DECISIONS}\n\nagain\n") == f"# Benchmarks\n\nold\n\n{DECISIONS}\n\nagain\n"


def test_the_command_prints_every_number_and_ends_with_1_if_a_limit_is_missed() -> None:
    before = (ROOT / "benchmarks/results.md").read_bytes()
    command = [sys.executable, "-m", "benchmarks", "decisions", "--rounds", "1", "--no-write"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.stderr
    for word in ("median", "p99", "worst", "json.loads", "pipes", "≤ 0.5 ms", "≤ 5 ms", "≤ 50 ms"):
        assert word in done.stdout
    assert done.returncode == (1 if "**missed**" in done.stdout else 0)
    assert (ROOT / "benchmarks/results.md").read_bytes() == before
