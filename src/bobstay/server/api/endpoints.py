"""All endpoints of the API, collected from the module of each resource."""

from functools import cache
from typing import Any

from bobstay.server.api import (
    artifacts_routes,
    audit_routes,
    auth_routes,
    auxiliary_worker_routes,
    background_routes,
    blobs_routes,
    config_routes,
    demo_routes,
    diff_routes,
    drafts_routes,
    export_routes,
    files_routes,
    health_routes,
    interactions_routes,
    inventory_routes,
    mcp_routes,
    notification_routes,
    projects_routes,
    providers_routes,
    roots_routes,
    rules_routes,
    search_routes,
    sessions_routes,
    sse_stream,
    tasks_routes,
    transcript_routes,
    trash_routes,
    trust_routes,
    usage_routes,
    workers_routes,
    worktrees_routes,
)
from bobstay.server.api.endpoint import Endpoint
from bobstay.server.api.openapi import document, openapi_endpoint


@cache
def current_document() -> dict[str, Any]:
    """The OpenAPI document of all endpoints."""
    return document(ENDPOINTS)


_OPENAPI = openapi_endpoint(current_document)

ENDPOINTS: tuple[Endpoint, ...] = (
    *auth_routes.ENDPOINTS,
    *sessions_routes.ENDPOINTS,
    *drafts_routes.ENDPOINTS,
    *trash_routes.ENDPOINTS,
    *interactions_routes.ENDPOINTS,
    *workers_routes.ENDPOINTS,
    *background_routes.ENDPOINTS,
    *inventory_routes.ENDPOINTS,
    *mcp_routes.ENDPOINTS,
    *export_routes.ENDPOINTS,
    *files_routes.ENDPOINTS,
    *blobs_routes.ENDPOINTS,
    *diff_routes.ENDPOINTS,
    *worktrees_routes.ENDPOINTS,
    *artifacts_routes.ENDPOINTS,
    *auxiliary_worker_routes.ENDPOINTS,
    *rules_routes.ENDPOINTS,
    *transcript_routes.ENDPOINTS,
    *trust_routes.ENDPOINTS,
    *notification_routes.ENDPOINTS,
    *usage_routes.ENDPOINTS,
    *tasks_routes.ENDPOINTS,
    *search_routes.ENDPOINTS,
    *audit_routes.ENDPOINTS,
    *sse_stream.ENDPOINTS,
    *projects_routes.ENDPOINTS,
    *providers_routes.ENDPOINTS,
    *demo_routes.ENDPOINTS,
    *roots_routes.ENDPOINTS,
    *health_routes.ENDPOINTS,
    *config_routes.ENDPOINTS,
    _OPENAPI,
)

AT_ROOT: tuple[Endpoint, ...] = (*health_routes.ENDPOINTS, _OPENAPI)
"""Endpoints that are also served without the prefix: `/health`, `/metrics` and `/openapi.json`."""
