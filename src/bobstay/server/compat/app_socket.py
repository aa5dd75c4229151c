"""The WebSocket for lists (S004-30): which sessions and workers there are, and what they do."""

import msgspec
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from bobstay.server.compat.compat_feed import feed_of
from bobstay.server.compat.compat_shapes import session_of
from bobstay.server.compat.compat_sockets import admitted, plain, talk
from bobstay.server.compat.frame_entry import FrameEntry, Message
from bobstay.server.console import Console
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.session_changes import APP
from bobstay.server.streams.subscription import Streams

PATH = "/ws/app"


class AppTranslator:
    """Translates the changes of lists. A client is first told of all sessions, then of each change."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._known: set[str] = set()
        self._activity: dict[str, str] = {}

    def messages(self, entry: FrameEntry) -> list[Message]:
        match entry.type:
            case "stream.synchronized":
                views = [view for view in self._console.registry.views.values() if view.status != "discarded"]
                self._known = {view.id for view in views}
                self._activity = {view.id: view.activity for view in views}
                return [{"type": "sessions-sync", "sessions": [_listed(view) for view in views]}]
            case "session.changed":
                return self._changed(msgspec.convert(entry.words["session"], SessionView, strict=False))
            case "session.deleted":
                id = str(entry.words["id"])
                self._known.discard(id)
                self._activity.pop(id, None)
                return [{"type": "session-deleted", "sessionId": id}]
            case _:
                return []

    def _changed(self, view: SessionView) -> list[Message]:
        told: list[Message] = []
        name = "session-updated" if view.id in self._known else "session-created"
        self._known.add(view.id)
        told.append({"type": name, "session": _listed(view)})
        if self._activity.get(view.id) != view.activity:
            self._activity[view.id] = view.activity
            worker = next((one.id for one in reversed(view.workers) if one.kind in ("native", "process")), None)
            said: Message = {"type": "worker-activity", "sessionId": view.id, "workerId": worker}
            told.append({**said, "activityState": view.activity})
        return told


def _listed(view: SessionView) -> Message:
    session = msgspec.to_builtins(session_of(view))
    workers = [
        {"id": worker.id, "type": worker.kind, "state": worker.state, "epoch": worker.epoch} for worker in view.workers
    ]
    return {**session, "activity": view.activity, "workers": workers}


def app_route(console: Console, streams: Streams) -> WebSocketRoute:
    async def serve(websocket: WebSocket) -> None:
        principal = await admitted(console, websocket, lambda: None)
        if principal is None:
            return
        async with feed_of(streams, principal, AppTranslator(console)) as feed:
            feed.follow(APP)

            async def heard(_: str | bytes) -> None:
                text = "Nothing is taken here: the socket of a worker is at /ws/session/{sid}/worker/{wid}."
                feed.say({"type": "error", "message": text, "code": "not_supported"})

            await talk(websocket, feed, heard, plain)

    return WebSocketRoute(PATH, serve, name="compat_app")
