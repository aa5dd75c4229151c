"""What is remembered of MCP servers: for whom it counts, and for how long."""

from pathlib import Path

import pytest

from bobstay.mcp import listing_store
from bobstay.mcp.listing_store import ListingStore, RememberedServer
from bobstay.mcp.server_config import McpServerConfig, Scope, parse_server
from bobstay.mcp.variable_expansion import Variables

REMEMBERED = RememberedServer(instructions="SAID")


def server(scope: Scope, command: str = "server") -> McpServerConfig:
    return parse_server("srv", {"command": command}, scope, "file", Variables({}))


@pytest.mark.parametrize(
    ("scope", "elsewhere"),
    [("project", None), ("local", None), ("dynamic", None), ("user", REMEMBERED), ("plugin", REMEMBERED)],
)
def test_a_server_of_a_folder_is_known_there_only(
    tmp_path: Path, scope: Scope, elsewhere: RememberedServer | None
) -> None:
    """H8-2: an entry of another folder may look the same and start something else."""
    ListingStore(str(tmp_path), "/one").write(server(scope), REMEMBERED)
    assert ListingStore(str(tmp_path), "/one").read(server(scope)) == REMEMBERED
    assert ListingStore(str(tmp_path), "/two").read(server(scope)) == elsewhere


def test_a_server_of_a_project_is_not_taken_for_that_of_the_person(tmp_path: Path) -> None:
    """H8-2"""
    store = ListingStore(str(tmp_path), "/one")
    store.write(server("project"), REMEMBERED)
    assert store.read(server("user")) is None


def test_the_oldest_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing_store, "_MAX_FILES", 2)
    store = ListingStore(str(tmp_path), "/one")
    for command in ("a", "b", "c"):
        store.write(server("user", command), REMEMBERED)
    assert len(list((tmp_path / "mcp-listings").iterdir())) == 2
    assert store.read(server("user", "c")) == REMEMBERED
