"""The list of background tasks that hosts get."""

from bobstay.wire.agent_frames import AgentFrames
from bobstay.wire.background_frames import BackgroundTasks


def test_a_session_without_sub_agents_counts_them_like_one_that_may_have_some() -> None:
    assert BackgroundTasks("s").agent_stats == AgentFrames("s").stats
