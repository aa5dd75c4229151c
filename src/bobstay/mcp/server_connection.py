"""Connection to one MCP server: opens it, notices its end, and opens it again."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from math import inf
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from bobstay.mcp.checked_transport import ConnectionWatch, watch_transport
from bobstay.mcp.clean_text import clean_line, clean_text
from bobstay.mcp.failure_text import describe_failure, innermost, is_authentication_failure
from bobstay.mcp.http_transport import HttpExchange
from bobstay.mcp.listing_store import ServerMemory
from bobstay.mcp.mcp_ports import McpOptions, McpPorts
from bobstay.mcp.server_config import McpServerConfig
from bobstay.mcp.server_files import ServerFiles
from bobstay.mcp.server_listing import LIST_KINDS, ListKind, ServerListing, fetch_lists, listen_for_changes
from bobstay.mcp.server_requests import ServerRequests
from bobstay.mcp.server_transport import open_transport, start_channel
from bobstay.mcp.stdio_channel import StdioChannel
from bobstay.mcp.tool_names import tool_name
from bobstay.version import __version__

if TYPE_CHECKING:
    from mcp.client.client import Client

ServerState: TypeAlias = Literal["pending", "connected", "failed", "needs-auth", "disabled"]
_STABLE = 60.0
"""Seconds after which a connection counts as good, so that its end is a new failure and not one of a row."""
_CLOSE_TIMEOUT = 3.0
_REFRESH_PAUSE = 0.1
"""Seconds between two reads of a server's lists, however often it says that they changed."""
_MAX_INSTRUCTIONS = 2_048
_UNSUPPORTED_VERSION = -32022
_CHANGED_LISTS: dict[str, tuple[ListKind, ...]] = {
    "notifications/tools/list_changed": ("tools",),
    "notifications/resources/list_changed": ("resources", "skills"),
    "notifications/prompts/list_changed": ("prompts",),
}


class ServerConnection:
    """A server and the task that holds its connection. The SDK's streams must be opened and closed in one task."""

    def __init__(
        self,
        config: McpServerConfig,
        options: McpOptions,
        ports: McpPorts,
        *,
        number: int,
        load: Callable[[], Awaitable[None]],
        changed: Callable[[], None],
    ) -> None:
        """`load` waits until the SDK is imported; `changed` is called when the state or a list changes."""
        self.config = config
        self.options, self.ports = options, ports
        self.state: ServerState = "disabled" if config.disabled or config.blocked else "pending"
        self.error = config.blocked
        self.server_info: dict[str, str] = {}
        self.has_settled = asyncio.Event()
        """Set once the first attempt has an outcome."""
        self.memory = ServerMemory(options.store, config)
        self.listing, self.instructions = self.memory.listing, self.memory.instructions
        self._has_started = False
        self._files = ServerFiles(config, options.cwd)
        self._number = number
        self._load, self._changed = load, changed
        self._task: asyncio.Task[None] | None = None
        self._client: Client | None = None
        self._watch: ConnectionWatch | None = None
        self._channel: StdioChannel | None = None
        self._connected_at = inf
        self._last_end = ""
        self._exchange = HttpExchange()
        self._wake = asyncio.Event()
        self._wanted = asyncio.Event()
        self._attempted = asyncio.Event()
        self._dirty: set[ListKind] = set()
        self._is_stopping = False
        self._changing = asyncio.Lock()
        self._mode = "legacy"
        self._noted: set[str] = set()
        if self.state == "disabled":
            self.has_settled.set()

    def start(self) -> None:
        """Connect in the background, unless it is disabled."""
        if self.state != "disabled" and self._task is None:
            self._has_started = True
            self._is_stopping = False
            self._task = asyncio.create_task(self._run(), name=f"mcp {self.config.name}")

    async def stop(self) -> None:
        """End the connection; the server's process ends with all its descendants."""
        task, self._task = self._task, None
        if task is None:
            return
        self._is_stopping = True
        self._wake.set()
        try:
            if self._client is not None:
                await asyncio.wait([task], timeout=_CLOSE_TIMEOUT)
        finally:
            task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # it is of no interest any more, but asyncio would complain

    async def restart(self) -> None:
        """Connect anew and wait for the outcome."""
        async with self._changing:
            await self.stop()
            self._files.accept()
            self._set_state("pending")
            self._attempted.clear()
            self.start()
        await self._until_attempted()

    async def enable(self) -> None:
        """Connect in the background."""
        async with self._changing:
            await self.stop()
            self._files.accept()
            self._set_state("pending")
            self.start()

    async def disable(self) -> None:
        async with self._changing:
            await self.stop()
            self.listing, self.instructions = ServerListing(), ""
            self._set_state("disabled")
            self.has_settled.set()

    @property
    def client(self) -> "Client | None":
        """The SDK's client while the connection lives."""
        if self._client is None or self._watch is None or self._watch.has_ended:
            return None
        return None if self._channel is not None and self._channel.has_ended else self._client

    @property
    def has_resources(self) -> bool:
        """Whether the model may read resources or skills of it: not if a rule denies all that it has."""
        offers = self.listing.resources or self.listing.skills
        return bool(offers) and not self.options.denies(tool_name(self.config.called, "resources"))

    async def connect(self) -> "Client | None":
        """Return the client, after the server was started if it was not, or has ended; None if that fails."""
        if not self._has_started:
            self.start()
        if self.client is None and self._task is not None and self.state != "needs-auth":
            if self._attempted.is_set():
                self._attempted.clear()
                self._wanted.set()
            await self._until_attempted()
        return self.client

    def confirm(self) -> None:
        """After a call that went well: a server that wanted authentication has it."""
        if self.state == "needs-auth" and self.client is not None:
            self._set_state("connected")

    def refuse_authentication(self) -> bool:
        """After a failed call: whether the server wants authentication. The state then says so at once."""
        if not self._exchange.needs_authentication:
            return False
        self._set_state("needs-auth", "The server wants you to sign in.")
        return True

    def forget_session(self, call_id: str) -> bool:
        """After a failed request: whether it was refused because the server does not know the session any more, such as
        after it was started again. The connection is given up then, and the next request opens another.
        """
        if call_id not in self._exchange.unknown or self._watch is None:
            return False
        self._watch.end()
        return True

    def describe_end(self) -> str:
        """Say why the connection ended."""
        current = self._channel.describe_end() if self._channel is not None else self._last_end
        return current or "the connection was closed"

    async def _until_attempted(self) -> None:
        """Wait for the outcome of the attempt to connect, or the end of all attempts."""
        if self._task is not None:
            attempted = asyncio.ensure_future(self._attempted.wait())
            try:
                await asyncio.wait([attempted, self._task], return_when=asyncio.FIRST_COMPLETED)
            finally:
                attempted.cancel()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        backoff = self.options.backoff
        attempts, since = 0, loop.time()
        while not self._is_stopping:
            self._attempted.clear()
            self._wanted.clear()
            self._connected_at = inf
            is_final = await self._connect_and_serve()
            if loop.time() - self._connected_at > _STABLE:
                attempts, since = 0, loop.time()
            if not is_final:
                continue
            attempts += 1
            is_remote = self.config.transport in ("http", "sse", "ws")
            may_retry = attempts <= backoff.attempts and loop.time() - since < backoff.total
            delay = backoff.delay(attempts) if is_remote and may_retry and self.state == "failed" else None
            if not self._is_stopping:
                with suppress(TimeoutError):
                    async with asyncio.timeout(delay):
                        await self._wanted.wait()

    async def _connect_and_serve(self) -> bool:
        """One connection from its beginning to its end. Returns False if another attempt should follow at once."""
        if self.state != "pending":
            self._set_state("pending")
        watch = self._watch = ConnectionWatch(self._wake.set)
        self._exchange = HttpExchange()
        self._dirty.clear()
        try:
            self._files.check()
            # The process starts before the SDK is loaded, so that both take their time at once.
            self._channel = start_channel(self.config, self.options, self._number)
            await self._load()
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self.options.connect_timeout):
                    client = await self._open(stack, watch)
                    self.listing = await fetch_lists(client, LIST_KINDS, self.listing, self.note)
                self._client = client
                self._connected_at = asyncio.get_running_loop().time()
                self._read_identity(client)
                self._note_problems(watch)
                self.memory.keep(self.listing, self.instructions)
                self._set_state("connected")
                self._settle()
                await self._serve(client, watch)
            if not self._is_stopping and self.state == "connected":
                self._set_state("failed", f"The connection ended: {self.describe_end()}.")
        except Exception as error:  # noqa: BLE001 - whatever a server does ends its own connection only
            if getattr(innermost(error), "code", None) == _UNSUPPORTED_VERSION and self._mode == "legacy":
                self._mode = "auto"
                return False
            self._fail(error, watch)
        finally:
            self._client = None
            watch.has_ended = True
            if self._channel is not None:
                self._last_end = self._channel.describe_end()
                await self._channel.close()
            self._channel = None
        self._settle_failure()
        return True

    def _settle(self) -> None:
        self.has_settled.set()
        self._attempted.set()

    def _settle_failure(self) -> None:
        """An attempt that failed has an outcome now; the end of a connection that was good is not one."""
        if not self._attempted.is_set() and not self._wanted.is_set():
            if not self.has_settled.is_set():
                self.listing, self.instructions = ServerListing(), ""  # what was remembered is not there any more
                self.memory.miss()
                self._changed()
            self._settle()

    async def _open(self, stack: AsyncExitStack, watch: ConnectionWatch) -> "Client":
        from mcp.client.client import Client
        from mcp.types import Implementation

        transport = await open_transport(self.config, self.options, self.ports, self._channel, self._exchange)
        client = Client(
            watch_transport(transport, watch),
            mode=self._mode if self.config.transport != "sdk" else "legacy",
            cache=None,
            client_info=Implementation(name="bobstay", version=__version__),
            message_handler=self._on_message,
            **ServerRequests(self.config.name, self.options, self.ports).callbacks,
        )
        return await stack.enter_async_context(client)

    async def _serve(self, client: "Client", watch: ConnectionWatch) -> None:
        listening = (
            asyncio.create_task(listen_for_changes(client)) if client.session.discover_result is not None else None
        )
        try:
            while not watch.has_ended and not self._is_stopping:
                await self._wake.wait()
                self._wake.clear()
                if self._dirty and self.client is not None:
                    kinds: tuple[ListKind, ...] = tuple(kind for kind in LIST_KINDS if kind in self._dirty)
                    self._dirty.clear()
                    with suppress(TimeoutError):  # it keeps the lists it had
                        async with asyncio.timeout(self.options.connect_timeout):
                            self.listing = await fetch_lists(client, kinds, self.listing, self.note)
                    self._note_problems(watch)
                    self.memory.keep(self.listing, self.instructions)
                    self._changed()
                    await asyncio.sleep(_REFRESH_PAUSE)
        finally:
            if listening is not None:
                listening.cancel()
                await asyncio.wait([listening])

    async def _on_message(self, message: Any) -> None:
        kinds = _CHANGED_LISTS.get(getattr(message, "method", ""), ())
        if kinds:
            self._dirty.update(kinds)
            self._wake.set()

    def _read_identity(self, client: "Client") -> None:
        info = client.server_info
        self.server_info = (
            {"name": clean_line(info.name, 200), "version": clean_line(info.version, 100)} if info is not None else {}
        )
        self.instructions = clean_text(client.instructions or "", _MAX_INSTRUCTIONS).strip()

    def _fail(self, error: BaseException, watch: ConnectionWatch) -> None:
        if self._exchange.needs_authentication or is_authentication_failure(error):
            self._set_state("needs-auth", "The server wants you to sign in.")
            return
        reason = describe_failure(error)
        if self._channel is not None:
            ended = self._channel.describe_end()
            errors = self._channel.stderr[-1000:]
            reason = ended or (f"{reason}. It wrote: {errors}" if errors else reason)
        elif self._exchange.status >= 400:
            reason = f"{reason} (HTTP status {self._exchange.status})"
        if watch.garbage:
            reason = f"{reason}. It sent text that is no message: {watch.garbage!r}"
        self._set_state("failed", f"It could not be connected: {reason}.")

    def _note_problems(self, watch: ConnectionWatch) -> None:
        for about, problem in list(watch.problems.items())[:20]:
            self.note(f"{about}: {problem}")
        watch.problems.clear()

    def note(self, text: str) -> None:
        """Tell a person, once."""
        if text not in self._noted and len(self._noted) < 100:
            self._noted.add(text)
            if self.ports.notice is not None:
                self.ports.notice(f"MCP server {clean_line(self.config.name, 80)!r}: {text}.")

    def _set_state(self, state: ServerState, error: str = "") -> None:
        self.state, self.error = state, error
        self._changed()
