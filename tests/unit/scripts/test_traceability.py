"""The traceability page: every requirement with its tests, and no test that names an unknown one."""

from pathlib import Path

import pytest
from scripts import make_traceability
from scripts.make_traceability import PROJECT, mentions_by_id, named_ids, page, unknown_ids


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with three requirements and two tests."""
    pages = tmp_path / "docs/requirements"
    pages.mkdir(parents=True)
    (pages / "harness.md").write_text("# Harness\n- H1-1 A tool is one class.\n- H1-2 Defaults | fail closed.\n")
    (pages / "console.md").write_text("# Console\n")
    (pages / "failures.md").write_text("- FM-3 A slow reader: it is closed.\n")
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_tools.py").write_text('def test_a_tool_is_a_class():\n    """H1-1"""\n')
    (tmp_path / "web/src").mkdir(parents=True)
    (tmp_path / "web/src/socket.test.ts").write_text('test("a slow reader is closed (FM-3)", () => {});\n')
    return tmp_path


def test_a_requirement_stands_beside_the_tests_that_name_it(project: Path) -> None:
    rows = page(project).splitlines()
    assert "| H1-1 | A tool is one class. | `tests/test_tools.py::test_a_tool_is_a_class` |" in rows
    assert "| FM-3 | A slow reader: it is closed. | `web/src/socket.test.ts` |" in rows


def test_a_requirement_without_a_test_says_so(project: Path) -> None:
    assert "| H1-2 | Defaults \\| fail closed. | not yet |" in page(project).splitlines()


def test_an_id_in_the_docstring_of_a_file_counts_for_the_file(project: Path) -> None:
    (project / "tests/test_defaults.py").write_text('"""Defaults: H1-2."""\n')
    assert mentions_by_id(project)["H1-2"] == {"tests/test_defaults.py"}


def test_an_id_that_no_page_defines_is_found(project: Path) -> None:
    (project / "tests/test_more.py").write_text('def test_more():\n    """H1-9"""\n')
    assert unknown_ids(project) == {"H1-9": {"tests/test_more.py::test_more"}}


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("FM-40..42", {"FM-40", "FM-41", "FM-42"}),
        ("H3-1 to H3-3", {"H3-1", "H3-2", "H3-3"}),
        ("S000-Q4 and F1", {"S000-Q4", "F1"}),
        ("UTF-8, SHA-256, F0, XFM-3, H1-1x", set()),
    ],
)
def test_ids_are_recognised_alone_and_in_ranges(text: str, ids: set[str]) -> None:
    assert named_ids(text) == ids


def test_the_page_of_this_project_is_up_to_date_and_every_id_is_known() -> None:
    assert unknown_ids(PROJECT) == {}
    assert (PROJECT / make_traceability.PAGE).read_text(encoding="utf-8") == page(PROJECT), "run `make traceability`"
