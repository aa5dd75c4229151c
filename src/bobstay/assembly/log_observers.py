"""Lets the parts of a session follow its log: what a resumed session has in it, then every new entry."""

from functools import partial

from bobstay.assembly.session_library import activate_skill
from bobstay.assembly.session_parts import SessionParts
from bobstay.assembly.start_context import StartContext
from bobstay.assembly.trust_policy import build_settings_writer
from bobstay.engine.agent_tree import AgentTree
from bobstay.engine.auto_mode import AutoModeApproval
from bobstay.engine.journal import LogObserver
from bobstay.engine.tool_environment import ToolEnvironment
from bobstay.engine.toolbox import Toolbox
from bobstay.git_files.git_directory import is_worktree_beside
from bobstay.model.event import Durable, PermissionsChanged
from bobstay.permissions.policy import Policy


def replay_log(start: StartContext, tool_environment: ToolEnvironment, policy: Policy, auto: AutoModeApproval) -> None:
    """Bring the folds that a resumed session continues up to its last entry. Rules and mode begin anew."""
    for envelope in start.history.branch:
        if not envelope.agent:
            tool_environment.apply(envelope.event)
            auto.apply(envelope.event)
        start.redactor.remember_placeholders(envelope.event)
    if tool_environment.root != tool_environment.origin:  # it was left in a worktree
        # A log grants nothing by itself: only a worktree of the same repository is entered again.
        if tool_environment.root.is_dir() and is_worktree_beside(str(tool_environment.root), start.cwd):
            policy.set_root(str(tool_environment.root))
            policy.set_cwd(str(tool_environment.cwd))
            return
        gone = tool_environment.root
        tool_environment.set_root(tool_environment.origin)
        start.warnings.append(f"The worktree {gone} is gone or another one: the session works in {start.cwd} again.")


def observe_log(parts: SessionParts, toolbox: Toolbox, tree: AgentTree) -> None:
    """Let every part with state follow the log."""
    policy, writer = parts.policy, build_settings_writer(parts.start)
    observers: list[LogObserver] = [policy, toolbox.tool_environment, parts.background, writer]
    if toolbox.auto is not None:
        observers.append(toolbox.auto)
    parts.journal.observers += observers
    tree.observers.append(partial(_share_permissions, (policy, writer)))
    parts.library.listeners.append(partial(activate_skill, parts.hooks, policy))
    parts.background.record_lost()


def _share_permissions(observers: tuple[LogObserver, ...], event: Durable) -> None:
    """Apply what a person allowed a sub-agent for good to the whole session."""
    if isinstance(event, PermissionsChanged):
        for observer in observers:
            observer.apply(event)
