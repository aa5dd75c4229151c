"""The short campaign of `campaign.py`; the long one is run by hand."""

from pathlib import Path

from tests.modelserver.server import ModelServer
from tests.server.api.campaign import campaign


def test_no_call_breaks_the_server_or_is_answered_as_nobody_wrote_down(model: ModelServer, tmp_path: Path) -> None:
    """Issue: schemathesis over the OpenAPI document, no server errors; every status and every body is documented."""
    tally = campaign(model, tmp_path, 400)
    assert not tally.failures, "\n".join(f"{key}\n{example}" for key, example in tally.failures.items())
    assert tally.calls > 200
    assert not [status for status in tally.statuses if status >= 500]
    assert tally.statuses[200] > 40, "most calls came to something that is there"
