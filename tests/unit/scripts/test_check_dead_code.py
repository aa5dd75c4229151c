"""The check of dead code finds what nothing or only a test uses, and keeps its list of exceptions true."""

from pathlib import Path

import pytest
from scripts import check_dead_code

USED = "def used() -> int:\n    return 1\n\n\nprint(used())\n"


def test_code_that_is_used_passes(tmp_path: Path) -> None:
    plant(tmp_path, "src/bobstay/module.py", USED)
    assert check_dead_code.main(tmp_path, {}) == 0


@pytest.mark.parametrize("text", ["def spare() -> None: ...\n", "class Spare: ...\n", "SPARE = 1\n"])
def test_code_that_nothing_uses_is_refused(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    plant(tmp_path, "src/bobstay/module.py", USED + text)
    assert check_dead_code.main(tmp_path, {}) == 1
    assert "module.py:6: " in capsys.readouterr().out


def test_code_that_only_a_test_uses_is_refused(tmp_path: Path) -> None:
    plant(tmp_path, "src/bobstay/module.py", "def spare() -> None: ...\n")
    plant(tmp_path, "tests/unit/test_module.py", "from bobstay.module import spare\n\nspare()\n")
    assert check_dead_code.main(tmp_path, {}) == 1


def test_the_fields_of_a_class_are_for_others(tmp_path: Path) -> None:
    plant(tmp_path, "src/bobstay/shape.py", "class Shape:\n    size: int = 0\n\n\nprint(Shape)\n")
    assert check_dead_code.main(tmp_path, {}) == 0


def test_a_tool_is_found_by_looking_into_its_folder(tmp_path: Path) -> None:
    plant(tmp_path, "src/bobstay/tools/builtin/read.py", "class Read: ...\n")
    assert check_dead_code.main(tmp_path, {}) == 0


def test_an_exception_holds_as_long_as_it_is_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plant(tmp_path, "src/bobstay/module.py", "def spare() -> None: ...\n")
    assert check_dead_code.main(tmp_path, {"spare": "a library calls it"}) == 0
    plant(tmp_path, "src/bobstay/module.py", USED)
    assert check_dead_code.main(tmp_path, {"spare": "a library calls it"}) == 1
    assert "spare is used or gone" in capsys.readouterr().out


def plant(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
