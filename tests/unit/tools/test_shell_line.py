"""What a command is told about variables that it was not given (H5-9)."""

import pytest

from bobstay.tools.shell_line import withheld_note

WITHHELD = frozenset({"GH_TOKEN", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD"})


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("echo ${GH_TOKEN:-none}", "GH_TOKEN"),
        ("gh pr create --fill", "GH_TOKEN"),
        ("cd infra && terraform plan", "AWS_SECRET_ACCESS_KEY"),
        ("aws s3 ls | psql -h db", "AWS_SECRET_ACCESS_KEY, PGPASSWORD"),
        ("glab mr list", ""),
        ("echo hello", ""),
        ("echo $MY_GH_TOKEN_TOO; cat highlights", ""),
    ],
)
def test_a_variable_that_a_command_names_or_its_program_reads_is_named(command: str, named: str) -> None:
    note = withheld_note(command, WITHHELD)
    assert note.partition("secret: ")[2].partition(". A person")[0] == named
    assert bool(note) == bool(named)


def test_nothing_is_said_where_nothing_is_withheld() -> None:
    assert withheld_note("gh pr create", frozenset()) == ""
