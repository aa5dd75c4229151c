"""What a command hook does, as frames for programs that follow along."""

from bobstay.hooks.hook_event import HookReport
from bobstay.wire import wire_frames
from bobstay.wire.wire_frames import Frame


def hook_frame(session_id: str, report: HookReport) -> Frame:
    fields = {"hook_id": report.id, "hook_name": report.name, "hook_event": report.event}
    ran = report.ran
    if ran is None:
        return wire_frames.system(session_id, "hook_started", **fields)
    return wire_frames.system(
        session_id,
        "hook_response",
        **fields,
        output=ran.stdout + ran.stderr,
        stdout=ran.stdout,
        stderr=ran.stderr,
        exit_code=ran.code,
        outcome=report.outcome,
    )
