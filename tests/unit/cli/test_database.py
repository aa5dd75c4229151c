"""Sources of the database URL, and that child processes do not inherit it."""

import os
from pathlib import Path

import pytest

from bobstay.cli.database_url import VARIABLE, database_url
from bobstay.config.environment import Environment

URL = "postgresql://u:sesame@db.example/x"


@pytest.mark.parametrize(
    ("option", "in_file", "found"),
    [("", "", URL), ("", "sqlite:////x", "sqlite:////x"), ("sqlite:////y", "sqlite:////x", "sqlite:////y")],
)
def test_the_option_goes_before_the_file_and_the_file_before_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, in_file: str, found: str
) -> None:
    monkeypatch.setenv(VARIABLE, URL)
    file = tmp_path / "database"
    file.write_text(in_file)
    assert database_url(option, str(file) if in_file else None) == found
    assert VARIABLE not in os.environ
    assert VARIABLE not in Environment.read().children


@pytest.mark.parametrize("text", ["", "two words", "\xff"])
def test_a_file_that_holds_no_url_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "database"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match="--db-file"):
        database_url("", str(file))
