"""Notes for the model on how the sandbox affected its command."""

import os
import re

from bobstay.tools.shell_job import ShellJob

_REFUSALS = re.compile(
    rb"Read-only file system|\bEROFS\b|Operation not permitted|\bEPERM\b|Device or resource busy|\bEBUSY\b"
    rb"|Network is unreachable|\bENETUNREACH\b|\bEAI_AGAIN\b|[Cc]ould not resolve|Name or service not known"
    rb"|Temporary failure in name resolution|Failed to connect|Connection refused|tunnel failed, response 403"
    rb"|The sandbox does not let this through|Permission denied|\bEACCES\b",
)
_LEAVES_RUNNING = re.compile(r"(?<![&>|<])&(?![&>0-9])\s*(?:$|[\n;)]|disown|sleep|echo)", re.MULTILINE)


def describe_sandbox_effects(job: ShellJob) -> str:
    """Notes to add to the result of a sandboxed command, or ""."""
    return "\n".join(filter(None, (_describe_quarantined(job), _describe_refusal(job))))


def _describe_quarantined(job: ShellJob) -> str:
    """List the files that were renamed."""
    if not job.quarantined:
        return ""
    moved = [f"{one.path} -> {os.path.basename(one.now)}" for one in job.quarantined if one.now]
    stuck = [one.path for one in job.quarantined if not one.now]
    more = f" and {len(moved) - 20} more" if len(moved) > 20 else ""
    sentences = [
        "Programs outside obey such files without asking, so what was made of them in the sandbox was renamed:"
    ]
    sentences.append(f"{'; '.join(moved[:20]) or 'nothing'}{more}.")
    if stuck:
        sentences.append(f"This could not be renamed, and a person should look at it: {'; '.join(stuck[:20])}.")
    sentences.append("If one is needed, make it by a call that a person can approve: Write, or outside_sandbox: true.")
    return f"({' '.join(sentences)})"


def _describe_refusal(job: ShellJob) -> str:
    if job.code and _has_not_started(job):
        return "(The sandbox could not be set up, so the command did not run.)"
    if job.code and _REFUSALS.search(_captured_output(job)):
        return (
            "(This ran in a sandbox: only the working directories and /tmp can be written, settings and git internals "
            "are read-only, and the network is closed or limited. If that is what stopped it and there is no other "
            "way, make the call again with outside_sandbox: true; a person is then asked.)"
        )
    if _LEAVES_RUNNING.search(job.command):
        return "(In the sandbox everything a command starts ends with it. To keep it running use run_in_background.)"
    return ""


def _has_not_started(job: ShellJob) -> bool:
    first = bytes(job.streams[2].head[:200])
    return not job.cwd and first.startswith((b"bwrap: ", b"sandbox: "))


def _captured_output(job: ShellJob) -> bytes:
    return b"\n".join(bytes(stream.head + stream.tail) for stream in job.streams.values())
