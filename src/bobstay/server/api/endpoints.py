"""All endpoints of the API, collected from the module of each resource."""

from bobstay.server.api import openapi
from bobstay.server.api import artifacts_routes
from bobstay.server.api import audit_routes
from bobstay.server.api import auth_routes
from bobstay.server.api import blobs_routes
from bobstay.server.api import config_routes
from bobstay.server.api import auxiliary_worker_routes
from bobstay.server.api import demo_routes
from bobstay.server.api import diff_routes
from bobstay.server.api import drafts_routes
from bobstay.server.api import export_routes
from bobstay.server.api import files_routes
from bobstay.server.api import health_routes
from bobstay.server.api import interactions_routes
from bobstay.server.api import projects_routes
from bobstay.server.api import providers_routes
from bobstay.server.api import notification_routes
from bobstay.server.api import roots_routes
from bobstay.server.api import rules_routes
from bobstay.server.api import search_routes
from bobstay.server.api import sessions_routes
from bobstay.server.api import inventory_routes
from bobstay.server.api import tasks_routes
from bobstay.server.api import transcript_routes
from bobstay.server.api import trash_routes
from bobstay.server.api import trust_routes
from bobstay.server.api import usage_routes
from bobstay.server.api import workers_routes
from bobstay.server.api import worktrees_routes
from bobstay.server.api.endpoint import Endpoint
from bobstay.server.streams import sse_stream

ENDPOINTS: tuple[Endpoint, ...] = (
    *auth_routes.ENDPOINTS,
    *sessions_routes.ENDPOINTS,
    *drafts_routes.ENDPOINTS,
    *trash_routes.ENDPOINTS,
    *interactions_routes.ENDPOINTS,
    *workers_routes.ENDPOINTS,
    *inventory_routes.ENDPOINTS,
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
    *openapi.ENDPOINTS,
)

AT_ROOT: tuple[Endpoint, ...] = (*health_routes.ENDPOINTS, *openapi.ENDPOINTS)
"""Those that programs look for without a prefix: `/health`, `/metrics` and `/openapi.json`."""
