"""Notes on variables that were withheld from a command (H5-9)."""

import pytest

from bobstay.tools.shell_line import describe_withheld

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
    note = describe_withheld(command, WITHHELD)
    assert note.partition("secret: ")[2].partition(". A person")[0] == named
    assert bool(note) == bool(named)


def test_nothing_is_said_where_nothing_is_withheld() -> None:
    assert describe_withheld("gh pr create", frozenset()) == ""
