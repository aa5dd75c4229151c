"""The database goes away while an agent works: who came in lately can still look, answer and stop, and nothing more."""

from pathlib import Path

from bobstay.server.auth import recent_principals
from bobstay.server.db.database_engines import connect, resolve
from bobstay.server.db.migration import migrate
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer
from tests.server.api.place import Place
from tests.server.auth.house import House
from tests.server.db.postgres import Cluster

API = "/api/v1"


async def test_a_running_agent_is_seen_answered_and_stopped_without_the_database(
    model: ModelServer, own_cluster: Cluster, tmp_path: Path
) -> None:
    gate = Gate()
    call = Call("Bash", {"command": "touch made"}, "c")
    prompt = model.play("ask", Step(blocks=[call]), Step(blocks=[Say("x")], gate=gate))
    async with Place(model, tmp_path, database=await own_cluster.new_database()) as place:
        reader, stranger = await place.token("read"), await place.token("read", "operate")
        assert (await place.get(f"{API}/sessions", headers=reader)).status == 200
        id = await place.launch(prompt)
        view = await place.until_status(id, "waiting_input")
        own_cluster.stop()
        assert [one["id"] for one in (await place.get(f"{API}/sessions")).json["sessions"]] == [id]
        waiting = view.interactions[0]
        verdict = {"decision": "allow", "input_sha256": waiting.input_sha256}
        assert (await place.post(f"{API}/interactions/{waiting.id}/decision", verdict)).status == 200
        await gate.reached()
        assert (await place.post(f"{API}/sessions/{id}/interrupt", {}, headers=reader)).status == 403
        assert (await place.post(f"{API}/sessions/{id}/interrupt", {})).status == 200
        await place.until_status(id, "interrupted")
        gate.open()
        assert (await place.get(f"{API}/audit")).status == 503, "nobody is an admin on a memory"
        unknown = await place.get(f"{API}/sessions", headers=stranger)
        assert (unknown.status, unknown.json["error"]["code"]) == (503, "unavailable")
        own_cluster.start()


async def test_nobody_is_believed_for_long_or_after_being_revoked(own_cluster: Cluster, tmp_path: Path) -> None:
    engines = connect(resolve(await own_cluster.new_database(), str(tmp_path)))
    await migrate(engines)
    async with House(tmp_path, engines.own) as house:
        page = await house.enter(house.code)
        _, bearer = await house.token("read")
        gone, revoked = await house.token("read")
        for headers in (bearer, revoked):
            assert (await house.ask("GET", f"{API}/things", headers)).status == 200
        assert (await house.ask("DELETE", f"{API}/auth/clients/{gone}", page)).status == 204
        own_cluster.stop()
        assert (await house.ask("GET", f"{API}/things", bearer)).status == 200
        assert (await house.ask("GET", f"{API}/things", revoked)).status == 503
        assert (await house.ask("POST", f"{API}/act", bearer, {})).status == 403, "scopes count as before"
        assert (await house.ask("GET", f"{API}/auth/clients", page)).status == 503
        house.clock.now += recent_principals.LATELY + 1
        assert (await house.ask("GET", f"{API}/things", bearer)).status == 503
        own_cluster.start()
