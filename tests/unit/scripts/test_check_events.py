"""The check of events finds a planted wildcard and a planted incomplete table, and lets complete ones pass."""

from pathlib import Path

import pytest
from scripts import check_events

COMPLETE = """
match event:
    case TextDelta(text=text):
        print(text)
    case NoticeEvent() | RunDone():
        pass
"""
OF_SOMETHING_ELSE = """
match block:
    case Text():
        print(block)
    case _:
        pass
"""


@pytest.mark.parametrize(
    "last",
    ["case _:", "case other:", "case RunDone() | _:", "case (_ as other):", "case object():", "case Struct():"],
)
def test_a_wildcard_among_events_is_refused(tmp_path: Path, last: str) -> None:
    plant(tmp_path, f"match event:\n    case Prompted():\n        pass\n    {last}\n        pass\n")
    assert check_events.main(tmp_path) == 1


def test_a_wildcard_beside_a_group_is_refused(tmp_path: Path) -> None:
    plant(tmp_path, "match event:\n    case WorkerEvent():\n        pass\n    case _:\n        pass\n")
    assert check_events.main(tmp_path) == 1


def test_the_message_names_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plant(tmp_path, "match event:\n    case event.Prompted():\n        pass\n    case _:\n        pass\n")
    check_events.main(tmp_path)
    assert "src/bobstay/planted.py:4: " in capsys.readouterr().out


@pytest.mark.parametrize("text", [COMPLETE, OF_SOMETHING_ELSE, COMPLETE.replace("RunDone():", "_ if rare:")])
def test_what_hides_no_kind_passes(tmp_path: Path, text: str) -> None:
    plant(tmp_path, text)
    assert check_events.main(tmp_path) == 0


@pytest.mark.parametrize("union", check_events.UNIONS)
def test_a_table_names_a_whole_union(tmp_path: Path, union: frozenset[str]) -> None:
    rows = [f"    {kind}: 1,\n" for kind in sorted(union)]
    plant(tmp_path, f"TABLE: dict[type, int] = {{\n{''.join(rows)}}}\n")
    assert check_events.main(tmp_path) == 0
    plant(tmp_path, f"TABLE = {{\n{''.join(rows[1:])}}}\n")
    assert check_events.main(tmp_path) == 1


def test_a_partial_table_needs_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, "SHORT = {RunDone: 1}\n")
    assert check_events.main(tmp_path) == 1
    monkeypatch.setitem(check_events.PARTIAL, "src/bobstay/planted.py:SHORT", "only the end is counted")
    assert check_events.main(tmp_path) == 0


def plant(root: Path, text: str) -> None:
    file = root / "src" / "bobstay" / "planted.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
