"""The database goes away while an agent works: who came in lately can still look, answer and stop, and nothing more."""

from pathlib import Path

from bobstay.server.auth import recent_principals
from bobstay.server.db.database_engines import connect, resolve
from bobstay.server.db.migration import migrate
from tests.kit.consoles import RunningConsole
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer
from tests.server.auth.auth_server import AuthServer
from tests.server.db.postgres import Cluster

API = "/api/v1"


async def test_a_running_agent_is_seen_answered_and_stopped_without_the_database(
    model: ModelServer, own_cluster: Cluster, tmp_path: Path
) -> None:
    gate = Gate()
    call = Call("Bash", {"command": "touch made"}, "c")
    prompt = model.play("ask", Step(blocks=[call]), Step(blocks=[Say("x")], gate=gate))
    async with RunningConsole(model, tmp_path, database=await own_cluster.new_database()) as server:
        reader, stranger = await server.token("read"), await server.token("read", "operate")
        assert (await server.get(f"{API}/sessions", headers=reader)).status == 200
        id = await server.launch(prompt)
        view = await server.until_status(id, "waiting_input")
        own_cluster.stop()
        assert [one["id"] for one in (await server.get(f"{API}/sessions")).json["sessions"]] == [id]
        waiting = view.interactions[0]
        decision = {"decision": "allow", "input_sha256": waiting.input_sha256}
        assert (await server.post(f"{API}/interactions/{waiting.id}/decision", decision)).status == 200
        await gate.reached()
        assert (await server.post(f"{API}/sessions/{id}/interrupt", {}, headers=reader)).status == 403
        assert (await server.post(f"{API}/sessions/{id}/interrupt", {})).status == 200
        await server.until_status(id, "interrupted")
        gate.open()
        assert (await server.get(f"{API}/audit")).status == 503, "nobody is an admin on a memory"
        unknown = await server.get(f"{API}/sessions", headers=stranger)
        assert (unknown.status, unknown.json["error"]["code"]) == (503, "unavailable")
        own_cluster.start()


async def test_nobody_is_believed_for_long_or_after_being_revoked(own_cluster: Cluster, tmp_path: Path) -> None:
    engines = connect(resolve(await own_cluster.new_database(), str(tmp_path)))
    await migrate(engines)
    async with AuthServer(tmp_path, engines.own) as auth_server:
        page = await auth_server.enter(auth_server.code)
        _, bearer = await auth_server.token("read")
        gone, revoked = await auth_server.token("read")
        for headers in (bearer, revoked):
            assert (await auth_server.ask("GET", f"{API}/things", headers)).status == 200
        assert (await auth_server.ask("DELETE", f"{API}/auth/clients/{gone}", page)).status == 204
        own_cluster.stop()
        assert (await auth_server.ask("GET", f"{API}/things", bearer)).status == 200
        assert (await auth_server.ask("GET", f"{API}/things", revoked)).status == 503
        assert (await auth_server.ask("POST", f"{API}/act", bearer, {})).status == 403, "scopes count as before"
        assert (await auth_server.ask("GET", f"{API}/auth/clients", page)).status == 503
        auth_server.clock.now += recent_principals.TRUSTED_SECONDS + 1
        assert (await auth_server.ask("GET", f"{API}/things", bearer)).status == 503
        own_cluster.start()
