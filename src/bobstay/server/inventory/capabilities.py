"""Capabilities of a session, from its engine, its configuration and the process that runs it."""

from bobstay.providers.catalogue import Catalogue
from bobstay.server.inventory.inventory_types import Capabilities
from bobstay.server.sessions.abandoned_view import is_external
from bobstay.server.sessions.session_view import SessionView

NATIVE = "native"


def capabilities(view: SessionView, commands: frozenset[str] = frozenset()) -> Capabilities:
    """The capabilities of a session; `commands` are the known slash commands of its engine."""
    if is_external(view):
        return _external_process(view)
    open_ = view.config.inputs == "interactive" and view.status != "discarded"
    taken = view.config.inputs != "locked" and view.status != "discarded"
    if view.config.engine == NATIVE:
        return Capabilities(
            fork=True,
            fork_at_message=True,
            steer=open_,
            queue=taken,
            images=_accepts_images(view.model),
            change_model=True,
            change_permission_mode=True,
            change_workflow=True,
            ask_user=True,
            edit_input=True,
            plan_review=True,
            interrupt=True,
            slash_commands=True,
            mcp=True,
            hooks=True,
            skills=True,
            agents=True,
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


def _external_process(view: SessionView) -> Capabilities:
    """The session runs in a process outside this server: it can be prompted and interrupted, but not changed."""
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


def _accepts_images(model: str) -> bool:
    """Whether a model accepts images. Unknown models may; their provider refuses images otherwise."""
    info = Catalogue().lookup(model) if model else None
    return info is None or info.images or not info.known
