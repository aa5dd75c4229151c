"""Trust in a directory over HTTP: what would be executed or obeyed there, and the word of a person that it may."""

from msgspec import Struct

from bobstay.config.digest import TooMuch
from bobstay.config.trust import is_apart, standing
from bobstay.config.trust_parts import executable_parts
from bobstay.config.trust_store import TrustStore, TrustUnusable
from bobstay.config.trust_warning import parts_to_warn_of
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.errors import ApiError
from bobstay.server.session_commands import working_directory


class TrustView(Struct, frozen=True):
    cwd: str
    trusted: bool
    changed: tuple[str, ...] = ()
    """What is not as it was when the directory was trusted."""
    parts: tuple[str, ...] = ()
    """What would be executed or obeyed in it."""
    warns: tuple[str, ...] = ()
    """Those of the parts that run something of the directory once it is trusted."""


class TrustQuery(Struct, frozen=True):
    cwd: str
    """The directory that is asked about."""


class TrustBody(Struct, frozen=True, forbid_unknown_fields=True):
    cwd: str


async def show_trust(call: ApiCall) -> TrustView:
    """Show whether a directory's settings, hooks and git configuration are obeyed, and which those are."""
    return _view(call, working_directory(call.console, call.query.cwd))


async def give_trust(call: ApiCall) -> TrustView:
    """Trust a directory as it is now; when an executable part of it changes, that ends."""
    paths = call.console.environment.paths
    cwd = working_directory(call.console, call.body.cwd)
    if not is_apart(paths, cwd):
        raise ApiError("forbidden", "The list of trusted directories lies inside this one: it cannot be trusted.")
    try:
        TrustStore(paths.bobstay).put(cwd, executable_parts(cwd))
    except (TrustUnusable, TooMuch) as error:
        raise ApiError("wrong_state", str(error)) from error
    return _view(call, cwd)


async def take_trust(call: ApiCall) -> TrustView:
    """Take trust in a directory back."""
    cwd = working_directory(call.console, call.body.cwd)
    try:
        TrustStore(call.console.environment.paths.bobstay).remove(cwd)
    except TrustUnusable as error:
        raise ApiError("wrong_state", str(error)) from error
    return _view(call, cwd)


def _view(call: ApiCall, cwd: str) -> TrustView:
    how = standing(cwd, call.console.environment.paths)
    try:
        parts = tuple(sorted(executable_parts(cwd)))
    except TooMuch as error:
        raise ApiError("wrong_state", f"The directory cannot be checked: {error}.") from error
    return TrustView(cwd, how.trusted, how.changed, parts, parts_to_warn_of(cwd, parts))


ENDPOINTS = (
    Endpoint("GET", "/trust", show_trust, query=TrustQuery, returns=TrustView, errors=("wrong_state",)),
    Endpoint("POST", "/trust", give_trust, "admin", TrustBody, None, TrustView, 200, ("wrong_state",)),
    Endpoint("DELETE", "/trust", take_trust, "admin", TrustBody, None, TrustView, 200, ("wrong_state",)),
)
