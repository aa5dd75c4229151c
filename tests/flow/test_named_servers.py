"""Thinking belongs to the server it came from, also where two servers speak the same API (H3-11)."""

import pytest

from bobstay.providers.provider_registry import NamedServer, build_named_provider
from tests.kit.scripted_session import MakeSession
from tests.modelserver.script import Call, Say, Step, Think
from tests.modelserver.server import ModelServer


@pytest.mark.parametrize(("vendor", "api", "path"), [("anthropic", "anthropic", ""), ("responses", "responses", "/v1")])
async def test_a_server_with_a_name_of_its_own_is_not_sent_the_thinking_of_another(
    model: ModelServer, make_session: MakeSession, vendor: str, api: str, path: str
) -> None:
    def script(name: str) -> str:
        call = Step(blocks=[Think(f"a thought of the {name}"), Call("Bash", {"command": "true"})])
        return model.play(name, call, Step(blocks=[Say("Done.")]))

    first = make_session(allow=("Bash",), vendor=vendor)
    await first.run(script("first"))
    assert "a thought of the first" in model.requests[-1].raw.decode()
    await first.close()

    def named(http: object, url: str) -> object:
        return build_named_provider("other", NamedServer(api, url + path, "key"), http)  # type: ignore[arg-type]  # as the settings say

    second = make_session(allow=("Bash",), adapter=named)
    done = await second.run(script("second"))
    sent = model.requests[-1].raw.decode()
    assert (done.text, "a thought of the first" in sent, "a thought of the second" in sent) == ("Done.", False, True)
    await second.close()
    third = make_session(allow=("Bash",), vendor=vendor)
    await third.run(script("third"))
    sent = model.requests[-1].raw.decode()
    assert ("a thought of the first" in sent, "a thought of the second" in sent) == (True, False)
    assert model.refused == []
