"""All endpoints of the API, collected from the module of each resource."""

from bobstay.server.api import (
    artifacts,
    audit,
    auth,
    blobs,
    config,
    crew,
    diff,
    export,
    files,
    health,
    interactions,
    openapi,
    projects,
    push,
    rules,
    search,
    sessions,
    surroundings,
    tasks,
    transcript,
    trust,
    usage,
    workers,
    worktrees,
)
from bobstay.server.api.table import Endpoint
from bobstay.server.stream import sse

ENDPOINTS: tuple[Endpoint, ...] = (
    *auth.ENDPOINTS,
    *sessions.ENDPOINTS,
    *interactions.ENDPOINTS,
    *workers.ENDPOINTS,
    *surroundings.ENDPOINTS,
    *export.ENDPOINTS,
    *files.ENDPOINTS,
    *blobs.ENDPOINTS,
    *diff.ENDPOINTS,
    *worktrees.ENDPOINTS,
    *artifacts.ENDPOINTS,
    *crew.ENDPOINTS,
    *rules.ENDPOINTS,
    *transcript.ENDPOINTS,
    *trust.ENDPOINTS,
    *push.ENDPOINTS,
    *usage.ENDPOINTS,
    *tasks.ENDPOINTS,
    *search.ENDPOINTS,
    *audit.ENDPOINTS,
    *sse.ENDPOINTS,
    *projects.ENDPOINTS,
    *health.ENDPOINTS,
    *config.ENDPOINTS,
    *openapi.ENDPOINTS,
)

AT_ROOT: tuple[Endpoint, ...] = (*health.ENDPOINTS, *openapi.ENDPOINTS)
"""Those that programs look for without a prefix: `/health`, `/metrics` and `/openapi.json`."""
