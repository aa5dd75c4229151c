"""All endpoints of the API, collected from the module of each resource."""

from bobstay.server.api import interactions, sessions
from bobstay.server.api.table import Endpoint

ENDPOINTS: tuple[Endpoint, ...] = (*sessions.ENDPOINTS, *interactions.ENDPOINTS)
