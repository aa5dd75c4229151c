"""There is one HTTP client: nothing else opens connections or parses responses."""

import re
from pathlib import Path

import bobstay

SOURCE = Path(bobstay.__file__).parent
OPENS = re.compile(r"\b(import httptools|open_connection\(|create_connection\(|urllib\.request|import http\.client)")
EXCEPTIONS = {
    "http/connection.py": "the protocol",
    "http/network.py": "dials",
    "permissions/sandbox/proxy.py": "a server that forwards bytes",
}


def test_only_the_client_opens_connections() -> None:
    found = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if OPENS.search(path.read_text())}
    assert found == EXCEPTIONS.keys()
