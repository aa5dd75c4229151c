"""Projects over HTTP: the directories that sessions belong to, and the recently used ones."""

import os

from msgspec import Struct

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.demo_project import NAME
from bobstay.server.sessions.session_status import BUSY
from bobstay.server.sessions.session_view import SessionView

MOST_RECENT = 50


class Project(Struct, frozen=True):
    path: str
    name: str
    sessions: int
    running: int
    waiting: int
    """Sessions that wait for a person."""
    archived: int
    last_active: float
    cost: float


class Projects(Struct, frozen=True):
    projects: tuple[Project, ...]


class RecentDirectory(Struct, frozen=True):
    path: str
    used_at: float
    sessions: int


class RecentDirectories(Struct, frozen=True):
    directories: tuple[RecentDirectory, ...]


async def projects(call: ApiCall) -> Projects:
    """List the directories that sessions belong to, with counts; the most recently active first."""
    found = [_project(path, views) for path, views in _by_directory(call).items()]
    found.sort(key=lambda project: (-project.last_active, project.path))
    return Projects(tuple(found))


async def recent_dirs(call: ApiCall) -> RecentDirectories:
    """List the directories in which sessions were last started, as suggestions for the next one."""
    found = [
        RecentDirectory(path, max(view.created_at for view in views), len(views))
        for path, views in _by_directory(call).items()
        if not _is_demo(path, views)
    ]
    found.sort(key=lambda directory: (-directory.used_at, directory.path))
    return RecentDirectories(tuple(found[:MOST_RECENT]))


def _by_directory(call: ApiCall) -> dict[str, list[SessionView]]:
    found: dict[str, list[SessionView]] = {}
    for view in call.services.registry.views.values():
        path = view.config.project or view.cwd
        if path and view.status != "discarded":
            found.setdefault(path, []).append(view)
    return found


def _is_demo(path: str, views: list[SessionView]) -> bool:
    """Whether it is a scratch project with demo sessions only."""
    return os.path.basename(path).startswith(NAME) and all(view.model == "demo" for view in views)


def _project(path: str, views: list[SessionView]) -> Project:
    return Project(
        path=path,
        name=os.path.basename(path.rstrip("/")) or path,
        sessions=len(views),
        running=sum(view.status in BUSY for view in views),
        waiting=sum(bool(view.interactions) for view in views),
        archived=sum(view.archived for view in views),
        last_active=max(view.updated_at for view in views),
        cost=sum(view.cost for view in views),
    )


ENDPOINTS = (
    Endpoint("GET", "/projects", projects, returns=Projects),
    Endpoint("GET", "/recent-dirs", recent_dirs, returns=RecentDirectories),
)
