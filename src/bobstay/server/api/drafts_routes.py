"""Drafts over HTTP: read and save a person's unsent message to a session."""

from typing import Annotated

from msgspec import Meta, Struct

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.db.draft_table import LONGEST, Draft, draft_of, save_draft


class NewDraft(Struct, frozen=True, forbid_unknown_fields=True):
    text: Annotated[str, Meta(max_length=LONGEST)]


async def show_draft(call: ApiCall) -> Draft:
    """Show your own draft for a session; empty if there is none."""
    view = call.services.registry.view(call.path["id"])
    return await draft_of(call.services.database, call.principal.name, view.id)


async def put_draft(call: ApiCall) -> Draft:
    """Save your draft for a session; an empty text removes it."""
    view = call.services.registry.view(call.path["id"])
    return await save_draft(call.services.database, call.principal.name, view.id, call.body.text)


ENDPOINTS = (
    Endpoint("GET", "/sessions/{id}/draft", show_draft, returns=Draft),
    Endpoint("PUT", "/sessions/{id}/draft", put_draft, "operate", NewDraft, returns=Draft),
)
