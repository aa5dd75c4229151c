"""Actions of people on the MCP servers of a session: reconnect, switch off and on, approve, sign in."""

import asyncio
import os
from contextlib import suppress

from msgspec import Struct

from bobstay.config.environment import Environment
from bobstay.config.settings_files import BrokenSettings, load
from bobstay.mcp.approval_store import ApprovalStore, ApprovalStoreError
from bobstay.mcp.mcp_servers import McpRequestError, McpServers
from bobstay.mcp.oauth import login
from bobstay.mcp.oauth_problem import OAuthProblem
from bobstay.mcp.oauth_store import OAuthStore
from bobstay.mcp.server_config import McpServerConfig
from bobstay.server.errors import ApiError
from bobstay.server.inventory.inventory_reader import InventoryReader
from bobstay.server.inventory.native_servers import approval_folder, can_sign_in, may_be_approved
from bobstay.server.runner import Runner
from bobstay.server.sessions.session_publisher import SessionPublisher
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.workers.worker import HoldsServers

ADDRESS_SECONDS = 30.0
"""Seconds within which a server must say where to sign in."""


class SignIn(Struct):
    """A sign-in that is under way, or failed."""

    address: "asyncio.Future[str]"
    task: "asyncio.Task[None] | None" = None
    problem: str = ""


class McpActions:
    def __init__(
        self, environment: Environment, inventory: InventoryReader, runner: Runner, publisher: SessionPublisher
    ) -> None:
        self._environment = environment
        self._inventory = inventory
        self._runner = runner
        self._publisher = publisher
        self._sign_ins: dict[tuple[str, str], SignIn] = {}
        """By session and server."""

    def servers_of(self, session_id: str) -> McpServers | None:
        """The servers that the running agent of a session holds, if it runs and has some."""
        worker: object = self._runner.worker(session_id)
        return worker.servers if isinstance(worker, HoldsServers) else None

    async def reconnect(self, view: SessionView, name: str) -> None:
        """Connect a server anew, and wait for the outcome, which its state tells.

        Raises:
            ApiError: wrong_state, not_found.
        """
        servers = self._require_servers(view)
        connection = servers.connection(name)
        if connection is None:
            raise _unknown(name)
        if connection.state == "disabled":
            raise ApiError("wrong_state", f"{name} is disabled. {connection.error or 'Switch it on first.'}")
        self._sign_ins.pop((view.id, name), None)
        with suppress(McpRequestError):  # it could not be connected: its state and error say so
            await servers.reconnect(name)

    async def switch(self, view: SessionView, name: str, *, enabled: bool) -> None:
        """Switch a server off, or on again, for as long as the agent of the session runs.

        Raises:
            ApiError: wrong_state, not_found.
        """
        servers = self._require_servers(view)
        if servers.connection(name) is None:
            raise _unknown(name)
        try:
            await servers.toggle(name, enabled=enabled)
        except McpRequestError as error:
            raise ApiError("wrong_state", str(error)) from error

    async def approve(self, view: SessionView, name: str, digest: str) -> None:
        """Approve a server of the project as its entry is written now, and start it if the agent runs.

        Raises:
            ApiError: not_found, wrong_state, input_changed.
        """
        paths = self._environment.paths
        config, trusted = await asyncio.to_thread(self._find_config, view, name)
        if config.digest != digest:
            text = f"The entry of {name} in {config.origin} is not the one that was shown. Look at it again."
            raise ApiError("input_changed", text, digest=config.digest)
        if not config.blocked:
            raise ApiError("wrong_state", f"{name} needs no approval.")
        if not may_be_approved(config, paths, cwd=view.cwd, trusted=trusted):
            raise ApiError("wrong_state", f"{name} cannot be approved. {config.blocked}")
        store = ApprovalStore(paths.bobstay)
        try:
            await asyncio.to_thread(store.approve, approval_folder(config, view.cwd), config)
        except ApprovalStoreError as error:
            raise ApiError("wrong_state", str(error)) from error
        servers = self.servers_of(view.id)
        connection = servers.connection(name) if servers is not None else None
        if servers is not None and connection is not None and connection.config.digest == digest:
            await servers.approve(name)
        else:
            self._publisher.publish_inventory_change(view.id)

    async def sign_in(self, view: SessionView, name: str) -> str:
        """Begin to sign in to a server. Returns the address that a person opens on this machine.

        The address is empty if the server wants no sign-in. When the person is back, the server is connected.

        Raises:
            ApiError: not_found, not_supported, unavailable.
        """
        config, _ = await asyncio.to_thread(self._find_config, view, name)
        if not can_sign_in(config):
            raise ApiError("not_supported", f"{name} has no sign-in: {config.blocked or 'it is not a remote server.'}")
        key = (view.id, name)
        going = self._sign_ins.get(key)
        if going is None or going.task is None or going.task.done():
            going = self._sign_ins[key] = SignIn(asyncio.get_running_loop().create_future())
            going.task = asyncio.create_task(self._run_sign_in(view.id, config, going), name=f"sign in {name}")
        try:
            return await asyncio.wait_for(asyncio.shield(going.address), ADDRESS_SECONDS)
        except TimeoutError:
            raise ApiError("unavailable", f"{name} did not say where to sign in. Try again.") from None

    def sign_in_of(self, session_id: str, name: str) -> tuple[str, str]:
        """The address of a sign-in that is under way, and why the last one failed; both may be empty."""
        found = self._sign_ins.get((session_id, name))
        if found is None:
            return "", ""
        going = found.task is not None and not found.task.done() and found.address.done()
        address = found.address.result() if going and found.address.exception() is None else ""
        return address, found.problem

    async def close(self) -> None:
        """End the sign-ins that are under way."""
        tasks = [each.task for each in self._sign_ins.values() if each.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _run_sign_in(self, session_id: str, config: McpServerConfig, going: SignIn) -> None:
        async def show(address: str) -> None:
            going.address.set_result(address)
            self._publisher.publish_inventory_change(session_id)

        store = OAuthStore(self._environment.paths.bobstay)
        try:
            await login(config.name, config.url, store, show, self._environment.network)
        except OAuthProblem as error:
            going.problem = str(error)
            if not going.address.done():
                going.address.set_exception(ApiError("unavailable", str(error)))
                going.address.exception()  # whoever asked may be gone
            self._publisher.publish_inventory_change(session_id)
            return
        if not going.address.done():
            going.address.set_result("")
        self._sign_ins.pop((session_id, config.name), None)
        servers = self.servers_of(session_id)
        if servers is not None and servers.connection(config.name) is not None:
            with suppress(McpRequestError):  # its state says so
                await servers.reconnect(config.name)
        self._publisher.publish_inventory_change(session_id)

    def _find_config(self, view: SessionView, name: str) -> tuple[McpServerConfig, bool]:
        """The configuration of a server as the files have it now, and whether the directory is trusted."""
        try:
            loaded = load(os.path.realpath(view.cwd), self._environment.paths)
        except BrokenSettings as error:
            raise ApiError("wrong_state", str(error)) from error
        for config in self._inventory.extensions(view, loaded).servers:
            if config.name == name:
                return config, loaded.trusted
        raise _unknown(name)

    def _require_servers(self, view: SessionView) -> McpServers:
        servers = self.servers_of(view.id)
        if servers is None:
            raise ApiError(
                "wrong_state", "The agent does not run. The next message starts it, and connects its servers."
            )
        return servers


def _unknown(name: str) -> ApiError:
    return ApiError("not_found", f"This session has no MCP server {name[:80]!r}.")
