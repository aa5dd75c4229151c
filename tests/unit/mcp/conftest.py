"""The SDK is loaded once before the tests, so that its second does not count as a server's."""

import pytest

from bobstay.mcp.official_sdk import load_sdk


@pytest.fixture(autouse=True)
async def _loaded_sdk() -> None:
    await load_sdk()
