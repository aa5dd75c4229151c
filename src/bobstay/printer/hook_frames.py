"""What a command hook does, as frames for programs that follow along."""

from bobstay.hooks.event import HookReport
from bobstay.wire import frames
from bobstay.wire.frames import Frame


def hook_frame(session_id: str, report: HookReport) -> Frame:
    fields = {"hook_id": report.id, "hook_name": report.name, "hook_event": report.event}
    ran = report.ran
    if ran is None:
        return frames.system(session_id, "hook_started", **fields)
    return frames.system(
        session_id,
        "hook_response",
        **fields,
        output=ran.stdout + ran.stderr,
        stdout=ran.stdout,
        stderr=ran.stderr,
        exit_code=ran.code,
        outcome=report.outcome,
    )
