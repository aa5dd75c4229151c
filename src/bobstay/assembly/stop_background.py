"""Stops one sub-agent or background command of a session for a person."""

from bobstay.assembly.session import AgentSession


async def stop_background(session: AgentSession, id: str) -> bool:
    """Stop it, whichever agent of the session started it; the model is told with the next prompt.

    Returns False if nothing of that id runs.
    """
    if await session.agents.stop(id, tell_later=True) is not None:
        return True
    if await session.background.stop(id):
        return True
    for agent in session.agents.list_running():
        shells = agent.toolbox.tool_environment.services.shells
        job = next((job for job in shells.in_background if job.id == id), None) if shells is not None else None
        if shells is not None and job is not None:
            await shells.stop(job, tell="wake")
            return True
    return False
