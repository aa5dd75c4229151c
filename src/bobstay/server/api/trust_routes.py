"""Trust in directories over HTTP: show what a directory would execute, trust it, or revoke the trust."""

from msgspec import Struct

from bobstay.config.digest import DigestLimitError
from bobstay.config.trust import check_trust, is_trust_list_outside
from bobstay.config.trust_parts import executable_parts
from bobstay.config.trust_store import TrustStore, TrustStoreError
from bobstay.config.trust_warning import select_risky_parts
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.errors import ApiError


class TrustView(Struct, frozen=True):
    cwd: str
    trusted: bool
    changed: tuple[str, ...] = ()
    """Parts that changed since the directory was trusted."""
    parts: tuple[str, ...] = ()
    """Parts of the directory that would be executed or obeyed."""
    warns: tuple[str, ...] = ()
    """Those parts that run code of the directory once it is trusted."""


class TrustQuery(Struct, frozen=True):
    cwd: str
    """The directory."""


class TrustBody(Struct, frozen=True, forbid_unknown_fields=True):
    cwd: str


async def show_trust(call: ApiCall) -> TrustView:
    """Show whether a directory is trusted, and its settings, hooks and git configuration that depend on it."""
    return _view(call, call.services.roots.resolve(call.query.cwd))


async def give_trust(call: ApiCall) -> TrustView:
    """Trust a directory in its current state; the trust ends when an executable part changes."""
    paths = call.services.environment.paths
    cwd = call.services.roots.resolve(call.body.cwd)
    if not is_trust_list_outside(paths, cwd):
        raise ApiError("forbidden", "The list of trusted directories lies inside this one: it cannot be trusted.")
    try:
        TrustStore(paths.bobstay).put(cwd, executable_parts(cwd))
    except (TrustStoreError, DigestLimitError) as error:
        raise ApiError("wrong_state", str(error)) from error
    return _view(call, cwd)


async def take_trust(call: ApiCall) -> TrustView:
    """Revoke the trust in a directory."""
    cwd = call.services.roots.resolve(call.body.cwd)
    try:
        TrustStore(call.services.environment.paths.bobstay).remove(cwd)
    except TrustStoreError as error:
        raise ApiError("wrong_state", str(error)) from error
    return _view(call, cwd)


def _view(call: ApiCall, cwd: str) -> TrustView:
    trust = check_trust(cwd, call.services.environment.paths)
    try:
        parts = tuple(sorted(executable_parts(cwd)))
    except DigestLimitError as error:
        raise ApiError("wrong_state", f"The directory cannot be checked: {error}.") from error
    return TrustView(cwd, trust.trusted, trust.changed, parts, select_risky_parts(cwd, parts))


ENDPOINTS = (
    Endpoint("GET", "/trust", show_trust, query=TrustQuery, returns=TrustView, errors=("wrong_state",)),
    Endpoint("POST", "/trust", give_trust, "admin", TrustBody, None, TrustView, 200, ("wrong_state",)),
    Endpoint("DELETE", "/trust", take_trust, "admin", TrustBody, None, TrustView, 200, ("wrong_state",)),
)
