"""What can really be done with a session: by what its engine is, how it runs, and who holds it now."""

from bobstay.providers.catalogue import Catalogue
from bobstay.server.inventory.inventory_types import Capabilities
from bobstay.server.sessions.external_sessions import is_outside
from bobstay.server.sessions.session_view import SessionView

NATIVE = "native"


def capabilities(view: SessionView, commands: frozenset[str] = frozenset()) -> Capabilities:
    """`commands` are the slash commands its engine is known to have."""
    if is_outside(view):
        return _elsewhere(view)
    open_ = view.config.inputs == "interactive" and view.status != "discarded"
    taken = view.config.inputs != "locked" and view.status != "discarded"
    if view.config.engine == NATIVE:
        return Capabilities(
            fork=True,
            fork_at_message=True,
            steer=open_,
            queue=taken,
            images=_sees(view.model),
            change_model=True,
            change_permission_mode=True,
            change_workflow=True,
            ask_user=True,
            edit_input=True,
            plan_review=True,
            interrupt=True,
            hooks=True,
            sandbox=True,
        )
    live = view.config.live
    return Capabilities(
        fork=True,
        fork_at_message=True,
        compact=live and "compact" in commands,
        steer=live and open_,
        queue=taken,
        images=live,
        change_model=True,
        change_permission_mode=True,
        change_workflow=True,
        ask_user=live,
        edit_input=live,
        plan_review=live,
        interrupt=True,
        terminal_resume=not view.config.ephemeral and any(worker.engine_session for worker in view.workers),
        slash_commands=live,
        mcp=True,
        hooks=True,
        skills=True,
        agents=True,
    )


def _elsewhere(view: SessionView) -> Capabilities:
    """A process of somebody else's runs it: it can be talked to and stopped, and nothing about it be changed."""
    return Capabilities(
        fork=True,
        fork_at_message=True,
        steer=view.config.inputs == "interactive",
        queue=view.config.inputs != "locked",
        ask_user=True,
        edit_input=True,
        interrupt=True,
        hooks=True,
        sandbox=True,
    )


def _sees(model: str) -> bool:
    """A model nobody knows may see: refusing a picture is its maker's business."""
    info = Catalogue().lookup(model) if model else None
    return info is None or info.images or not info.known
