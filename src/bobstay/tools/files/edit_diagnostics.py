"""Adds the errors that a running language server finds after an edit to the edit's result."""

import msgspec

from bobstay.tools.base import Context, Outcome


async def with_new_errors(outcome: Outcome, context: Context) -> Outcome:
    """`outcome` with the new errors of the files it wrote; unchanged where no language server runs."""
    languages = context.services.languages
    if languages is None or not isinstance(outcome.content, str):
        return outcome
    note = await languages.errors_after_edit(tuple(outcome.files))
    return msgspec.structs.replace(outcome, content=f"{outcome.content}\n{note}") if note else outcome
