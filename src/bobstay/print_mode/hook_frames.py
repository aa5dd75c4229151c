"""Frames that report the progress of command hooks."""

from bobstay.hooks.hook_event import HookReport
from bobstay.wire import wire_frames
from bobstay.wire.wire_frames import Frame


def build_hook_frame(session_id: str, report: HookReport) -> Frame:
    fields = {"hook_id": report.id, "hook_name": report.name, "hook_event": report.event}
    result = report.result
    if result is None:
        status = {"status_message": report.status_message} if report.status_message else {}
        return wire_frames.system(session_id, "hook_started", **fields, **status)
    return wire_frames.system(
        session_id,
        "hook_response",
        **fields,
        output=result.stdout + result.stderr,
        stdout=result.stdout,
        stderr=result.stderr,
        exit_code=result.code,
        outcome=report.outcome,
    )
