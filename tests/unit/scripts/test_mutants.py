"""The mutation run finds what tests do not see: each operator makes its change, and a planted survivor survives."""

from pathlib import Path

import pytest
from scripts.mutants.journal import Journal, outcome_of
from scripts.mutants.mutant import Mutant
from scripts.mutants.operators import compiles, mutants_of
from scripts.mutants.reach import Reach
from scripts.mutants.reachable_lines import reachable_lines
from scripts.mutants.report import Report
from scripts.mutants.scratch import Scratch
from scripts.mutants.trial import Limits, NoOutcome, tried

AGES = """
EXEMPT = ("judges", "bailiffs")

def may_drive(age: int) -> bool:
    return age >= 18


def may_vote(age: int) -> bool:
    return age >= 18


def forgotten(age: int) -> bool:
    return age > 100
"""
TESTS = """
import os
import pytest
from ages import EXEMPT, may_drive, may_vote

def test_somebody_of_eighteen_may_drive():
    assert may_drive(18) and not may_drive(17)

def test_a_grown_up_may_vote():
    assert may_vote(40) and not may_vote(4)

@pytest.mark.parametrize("who", EXEMPT)
def test_everybody_may_vote(who):
    assert may_vote(40)

days = []

def test_a_busy_machine():
    days.append(may_vote(40))
    assert "MUTANTS_RECORDING" in os.environ or len(days) > 1
"""


def changes(source: str) -> set[tuple[str, str]]:
    return {(mutant.before, mutant.after) for mutant in mutants_of("x.py", source)}


@pytest.mark.parametrize(
    ("source", "before", "after"),
    [
        ("a = b < c", "b < c", "(b <= c)"),
        ("a = b is None", "b is None", "(b is not None)"),
        ("a = b and c", "b and c", "(b or c)"),
        ("a = not b", "not b", "(b)"),
        ("a = b + 1", "b + 1", "(b - 1)"),
        ("a = 4", "4", "5"),
        ("a = True", "True", "False"),
        ("a = 'deny'", "'deny'", '""'),
        ("if b: a()", "b", "(not (b))"),
        ("def a():\n    return b", "return b", "return None"),
        ("def a():\n    return", "return", "pass"),
        ("a.b()", "a.b()", "pass"),
        ("a.b = c", "a.b = c", "pass"),
        ("async def a():\n    await b()", "await b()", "pass"),
        ("try:\n    a()\nexcept OSError:\n    b()", "b()", "raise"),
        ("raise ValueError('no')", "raise ValueError('no')", "pass"),
    ],
)
def test_an_operator_changes_one_place(source: str, before: str, after: str) -> None:
    assert (before, after) in changes(source)


@pytest.mark.parametrize(
    "source",
    [
        '"""Short."""',
        "a: Literal['x']",
        "a = f'{b < c}'",
        "assert b < c",
        "a = 'a sentence'",
        "a = None",
        "class A(frozen=True): pass",
    ],
)
def test_what_does_not_run_or_is_prose_is_left_alone(source: str) -> None:
    assert changes(source) == set()


def test_a_change_is_made_at_its_place_behind_letters_of_several_bytes() -> None:
    source = 'a = "größer als", b < c\n'
    [mutant] = [mutant for mutant in mutants_of("x.py", source) if mutant.operator == "comparison"]
    assert mutant.applied(source) == 'a = "größer als", (b <= c)\n'
    assert compiles(mutant.applied(source))


def test_a_mutant_keeps_its_name_when_lines_move() -> None:
    source = "def f(a):\n    return a < 1\n"
    assert [each.id for each in mutants_of("x.py", source)] == [each.id for each in mutants_of("x.py", "\n" + source)]


@pytest.mark.timeout(180)
def test_a_planted_survivor_is_found_and_a_planted_victim_is_killed(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "ages.py").write_text(AGES)
    (project / "test_ages.py").write_text(TESTS)
    scratch = Scratch(project, tmp_path / "scratch", sandboxed=False)
    scratch.prepare()
    reach = Reach(scratch, ["src/*.py"])
    assert reach.record(["test_ages.py"]) == 1
    assert reach.record(["test_ages.py"]) == 0, "a recording holds while nothing changed"

    mutants = mutants_of("src/ages.py", AGES)
    chosen = {each.scope: each for each in mutants if each.operator == "comparison" or each.before == '"bailiffs"'}
    journal = Journal(tmp_path / "outcomes.jsonl")
    for mutant in chosen.values():
        journal.add(tried(scratch, reach, mutant, {mutant.path: AGES}, Limits()))

    outcomes = {outcome.scope: outcome for outcome in Journal(tmp_path / "outcomes.jsonl").outcomes.values()}
    assert {scope: outcome.status for scope, outcome in outcomes.items()} == {
        "may_drive": "killed",
        "may_vote": "survived",
        "forgotten": "unreached",
        "": "survived",
    }, "and that a test made from the code's own table is gone kills nothing"
    assert outcomes["may_drive"].by == "test_ages.py::test_somebody_of_eighteen_may_drive"
    assert outcomes["may_vote"].asked == 4, "only tests that reach the line are asked"
    assert (project / "src" / "ages.py").read_text() == AGES
    assert (scratch.tree / "src" / "ages.py").read_text() == AGES


@pytest.mark.timeout(180)
def test_tests_that_fail_without_the_change_too_kill_nothing(tmp_path: Path) -> None:
    """A test that does not pass any more is not asked again; if none can be run at all, nothing is said."""
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "ages.py").write_text(AGES)
    spoilt = "def test_today():\n    assert may_vote(40) and not os.path.exists('spoilt')\n"
    (project / "test_ages.py").write_text(f"{TESTS}\n{spoilt}")
    scratch = Scratch(project, tmp_path / "scratch", sandboxed=False)
    scratch.prepare()
    reach = Reach(scratch, ["src/*.py"])
    reach.record(["test_ages.py"])
    drive, vote, _ = (each for each in mutants_of("src/ages.py", AGES) if each.operator == "comparison")

    (scratch.tree / "spoilt").touch()
    assert tried(scratch, reach, vote, {vote.path: AGES}, Limits()).status == "survived"
    assert tried(scratch, reach, drive, {drive.path: AGES}, Limits()).status == "killed"
    (scratch.tree / "conftest.py").write_text("raise RuntimeError('nothing runs here')")
    with pytest.raises(NoOutcome, match="nothing runs here"):
        tried(scratch, reach, vote, {vote.path: AGES}, Limits())


def test_a_survivor_is_judged_once_its_row_is_on_the_page(tmp_path: Path) -> None:
    first, second, _ = (each for each in mutants_of("src/ages.py", AGES) if each.operator == "comparison")
    page = tmp_path / "testing.md"
    page.write_text(f"{first.row} equivalent: nobody is that old |\n")
    report = Report(page)
    for mutant in (first, second):
        report.add(mutant, outcome_of(mutant, AGES, "survived"))
    assert (report.judged, report.unjudged) == ([first], [second])
    assert f"{second.row} ? |" in report.text()


def test_a_default_is_seen_by_the_tests_of_its_function_and_a_constant_by_those_that_reach_its_name() -> None:
    sources = {
        "x.py": "MOST = 4\ndef f(a=1):\n    b = a\n    return b\n",
        "y.py": "from x import MOST\ndef g():\n    a = 0\n    return MOST\ndef h():\n    pass\n",
    }
    most, default = (each for each in mutants_of("x.py", sources["x.py"]) if each.operator == "constant")
    assert reachable_lines(default, sources) == {"x.py": {3, 4}}
    assert reachable_lines(most, sources) == {"y.py": {4}}


def test_a_damaged_last_line_of_the_journal_is_passed_over(tmp_path: Path) -> None:
    [mutant, *_] = mutants_of("x.py", "a = 4")
    place = tmp_path / "outcomes.jsonl"
    Journal(place).add(outcome_of(mutant, "a = 4", "killed"))
    with place.open("a") as file:
        file.write('{"id": "x')
    assert _known(Journal(place), mutant, "a = 4") == "killed"
    assert _known(Journal(place), mutant, "a = 4 # changed") is None


def _known(journal: Journal, mutant: Mutant, source: str) -> str | None:
    outcome = journal.known(mutant, source)
    return outcome.status if outcome else None
