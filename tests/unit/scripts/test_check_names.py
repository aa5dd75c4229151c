"""The check of names finds planted duplicates and replaced words, and its list of old names only becomes shorter."""

from pathlib import Path

import pytest
from scripts import check_names

CLEAN = '"""A module."""\n\n\nclass Conversation:\n    def resume(self) -> None: ...\n'


def test_a_clean_tree_passes(tmp_path: Path) -> None:
    plant(tmp_path, "src/bobstay/conversation.py", CLEAN)
    assert check_names.main([], tmp_path) == 0


def test_a_public_class_name_occurs_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plant(tmp_path, "src/bobstay/conversation.py", CLEAN)
    plant(tmp_path, "src/bobstay/server/messages.py", CLEAN)
    assert check_names.main([], tmp_path) == 1
    assert "class Conversation occurs 2 times" in capsys.readouterr().out


def test_a_private_class_name_may_occur_twice(tmp_path: Path) -> None:
    for name in ("one", "two"):
        plant(tmp_path, f"src/bobstay/{name}.py", CLEAN.replace("Conversation", "_Conversation"))
    assert check_names.main([], tmp_path) == 0


def test_a_module_name_occurs_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plant(tmp_path, "src/bobstay/git.py")
    plant(tmp_path, "src/bobstay/server/git.py")
    assert check_names.main([], tmp_path) == 1
    assert "module git occurs 2 times" in capsys.readouterr().out


def test_some_module_names_may_occur_twice(tmp_path: Path) -> None:
    for folder in ("tools", "providers"):
        for name in ("__init__", "base"):
            plant(tmp_path, f"src/bobstay/{folder}/{name}.py")
    assert check_names.main([], tmp_path) == 0


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("src/bobstay/model/around.py", "class OpenTalk: ...\n", "src/bobstay/model/around.py:OpenTalk"),
        ("src/bobstay/engine.py", "async def _take_up(): ...\n", "src/bobstay/engine.py:_take_up"),
        ("src/bobstay/engine/told.py", "", "src/bobstay/engine/told.py:told"),
        ("src/bobstay/crew/worker.py", "", "src/bobstay/crew:crew"),
        ("tests/unit/test_it.py", "def heard(): ...\n", "tests/unit/test_it.py:heard"),
        ("scripts/make_pictures.py", "", "scripts/make_pictures.py:make_pictures"),
        ("benchmarks/run.py", "class Verdict: ...\n", "benchmarks/run.py:Verdict"),
        ("web/src/Bell.tsx", "", "web/src/Bell.tsx:Bell"),
        ("web/src/api.ts", "export function wordsOf(error: Error) {\n", "web/src/api.ts:wordsOf"),
        ("web/src/api.ts", "const said = async (text: string) => text\n", "web/src/api.ts:said"),
        ("web/src/api.ts", "class Pump {\n  #astray(seq: number): void {\n", "web/src/api.ts:#astray"),
    ],
)
def test_a_replaced_word_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str, text: str, line: str
) -> None:
    plant(tmp_path, path, text)
    assert check_names.main([], tmp_path) == 1
    assert f"{line}: say " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/bobstay/server/rulebook.py", "def talkative(): ...\n"),
        ("src/bobstay/permissions/shell/parser.py", "def words_of(): ...\n"),
        ("tests/unit/test_it.py", "def test_the_person_is_told_what_was_said(): ...\n"),
        ("web/src/gen/api.ts", "interface Surroundings {\n"),
    ],
)
def test_a_right_use_of_a_word_passes(tmp_path: Path, path: str, text: str) -> None:
    plant(tmp_path, path, text)
    assert check_names.main([], tmp_path) == 0


def test_a_name_of_the_baseline_passes_until_it_is_gone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plant(tmp_path, "src/bobstay/engine.py", "def told(): ...\n")
    plant(tmp_path, check_names.BASELINE, "src/bobstay/engine.py:told\n")
    assert check_names.main([], tmp_path) == 0
    plant(tmp_path, "src/bobstay/engine.py", "def report(): ...\n")
    assert check_names.main([], tmp_path) == 1
    assert "src/bobstay/engine.py:told: is gone" in capsys.readouterr().out


def test_shrinking_drops_what_is_gone_and_adds_nothing(tmp_path: Path) -> None:
    plant(tmp_path, "src/bobstay/engine.py", "def told(): ...\ndef heard(): ...\n")
    plant(tmp_path, check_names.BASELINE, "src/bobstay/engine.py:told\nsrc/bobstay/gone.py:said\n")
    assert check_names.main(["--shrink"], tmp_path) == 1
    assert (tmp_path / check_names.BASELINE).read_text() == "src/bobstay/engine.py:told\n"


def plant(root: Path, path: str, text: str = "") -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
