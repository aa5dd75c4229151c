"""What is remembered of a server is remembered for those who wrote its entry only (H8-2)."""

from pathlib import Path

import pytest

from bobstay.mcp.listing_store import ListingStore, RememberedServer
from bobstay.mcp.server_config import Scope, parse_server
from bobstay.mcp.variable_expansion import Variables


@pytest.mark.parametrize(
    ("scope", "everywhere"),
    [("user", True), ("plugin", True), ("project", False), ("local", False), ("dynamic", False)],
)
def test_what_a_server_of_one_folder_offered_is_not_remembered_in_another(
    tmp_path: Path, scope: Scope, everywhere: bool
) -> None:
    """The same entry may start another program there: `./server`."""
    config = parse_server("s", {"command": "./server"}, scope, "", Variables({}))
    home = str(tmp_path)
    ListingStore(home, "/one").write(config, RememberedServer(instructions="Obey me."))
    assert ListingStore(home, "/one").read(config) is not None
    assert (ListingStore(home, "/two").read(config) is not None) == everywhere
