"""Search over HTTP: words in, places in sessions out."""

from typing import Annotated

from msgspec import Meta, Struct

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.db.full_text_search import MOST_HITS, SearchResults, search


class SearchQuery(Struct, frozen=True):
    q: Annotated[str, Meta(max_length=1_000)] = ""
    """Words that must all occur; words in double quotes must stand together. The end of a word may be left out."""
    session_id: Annotated[str, Meta(max_length=200)] = ""
    """Search this session only; empty for all."""
    cursor: Annotated[str, Meta(max_length=100)] = ""
    """`cursor` of the page that was answered last; empty for the first page."""
    limit: Annotated[int, Meta(ge=1, le=MOST_HITS)] = 20
    """Places on a page at most."""


async def search_all(call: ApiCall) -> SearchResults:
    """Search what was said and done in all sessions, or in one."""
    query: SearchQuery = call.query
    if query.session_id:
        view = call.console.registry.view(query.session_id)
        await call.console.database.flushed(view.id, view.seq)
    return await search(call.console.database, query.q, query.session_id, query.cursor, query.limit)


ENDPOINTS = (Endpoint("GET", "/search", search_all, query=SearchQuery, returns=SearchResults, errors=("not_found",)),)
