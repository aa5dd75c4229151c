"""The JSON lines log passes the conformance checks."""

from pathlib import Path

import pytest

from bobstay.sessions.conformance import CHECKS, Check
from bobstay.sessions.jsonl_log import JsonlLog
from bobstay.sessions.log import Log


class JsonlLogs:
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def create(self, session_id: str) -> Log:
        return JsonlLog.create(str(self._directory / f"{session_id}.jsonl"))

    def reopen(self, session_id: str) -> Log:
        return JsonlLog.reopen(str(self._directory / f"{session_id}.jsonl"))[0]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_file_log_keeps_the_contract(check: Check, tmp_path: Path) -> None:
    """H6-1"""
    check(JsonlLogs(tmp_path))
