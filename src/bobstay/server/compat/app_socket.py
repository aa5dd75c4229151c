"""Compatibility WebSocket for lists of sessions and workers, with their activity."""

import msgspec
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from bobstay.server.api.services import Services
from bobstay.server.compat.compat_feed import open_feed
from bobstay.server.compat.compat_shapes import session_of
from bobstay.server.compat.compat_sockets import accept_socket, run_socket, without_mark
from bobstay.server.compat.frame_entry import FrameEntry, Message
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.session_changes import APP
from bobstay.server.streams.subscription import Streams

PATH = "/ws/app"


class AppTranslator:
    """Translates changes of lists: first all sessions, then each change."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._known: set[str] = set()
        self._activity: dict[str, str] = {}

    def messages(self, entry: FrameEntry) -> list[Message]:
        match entry.type:
            case "stream.synchronized":
                views = [view for view in self._services.registry.views.values() if view.status != "discarded"]
                self._known = {view.id for view in views}
                self._activity = {view.id: view.activity for view in views}
                return [{"type": "sessions-sync", "sessions": [_listed(view) for view in views]}]
            case "session.changed":
                return self._changed(msgspec.convert(entry.payload["session"], SessionView, strict=False))
            case "session.deleted":
                id = str(entry.payload["id"])
                self._known.discard(id)
                self._activity.pop(id, None)
                return [{"type": "session-deleted", "sessionId": id}]
            case _:
                return []

    def _changed(self, view: SessionView) -> list[Message]:
        messages: list[Message] = []
        name = "session-updated" if view.id in self._known else "session-created"
        self._known.add(view.id)
        messages.append({"type": name, "session": _listed(view)})
        if self._activity.get(view.id) != view.activity:
            self._activity[view.id] = view.activity
            worker = next((one.id for one in reversed(view.workers) if one.kind in ("native", "process")), None)
            change: Message = {"type": "worker-activity", "sessionId": view.id, "workerId": worker}
            messages.append({**change, "activityState": view.activity})
        return messages


def _listed(view: SessionView) -> Message:
    session = msgspec.to_builtins(session_of(view))
    workers = [
        {"id": worker.id, "type": worker.kind, "state": worker.state, "epoch": worker.epoch} for worker in view.workers
    ]
    return {**session, "activity": view.activity, "workers": workers}


def app_route(services: Services, streams: Streams) -> WebSocketRoute:
    async def serve(websocket: WebSocket) -> None:
        principal = await accept_socket(services, websocket, lambda: None)
        if principal is None:
            return
        async with open_feed(streams, principal, AppTranslator(services)) as feed:
            feed.subscribe(APP)

            async def receive(_: str | bytes) -> None:
                text = "This socket accepts no messages. Use that of a worker, /ws/session/{sid}/worker/{wid}."
                feed.send({"type": "error", "message": text, "code": "not_supported"})

            await run_socket(websocket, feed, receive, without_mark)

    return WebSocketRoute(PATH, serve, name="compat_app")
