"""A small process that outlives us just long enough to end what we started, should we be killed.

It waits on a pipe only we hold. When we are gone, by whatever cause, it wakes, ends every process that carries our
mark, and is gone too. A parent-death signal would have to be set between fork and exec, which costs the fast way
of starting a process, is lost at the second fork, and is bound to a thread: this does it once, for all children.
"""

import os
import subprocess

_SCRIPT = """
read -r _ && exit 0
tries=0
how=TERM
while [ $tries -lt 60 ]; do
  found=$(grep -slaF -e "$1" /proc/[0-9]*/environ)
  [ -n "$found" ] || exit 0
  for file in $found; do
    process=${file#/proc/}
    kill -$how "${process%/environ}" 2>/dev/null
  done
  [ $how = KILL ] || sleep 0.2
  how=KILL
  tries=$((tries + 1))
done
"""
_running: dict[int, tuple[str, int]] = {}


def mark_of_this_process(inherited: str = "") -> str:
    """The mark that everything started by this process shall carry; starts the watchdog at the first call.

    `inherited` is the mark of whoever started us, which the watchdog carries itself.
    """
    if os.getpid() not in _running:
        _running.clear()  # after a fork the parent's watchdog is not ours
        _running[os.getpid()] = _start(inherited)
    return _running[os.getpid()][0]


def _start(inherited: str) -> tuple[str, int]:
    from bobstay.kit.family import MARK

    mark = os.urandom(8).hex()
    waiting, held = os.pipe()
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"} | ({MARK: inherited} if inherited else {})
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, "bobstay-watchdog", mark],
            stdin=waiting,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=environment,
            start_new_session=True,
        )
        process.returncode = 0  # nobody waits for it: it lives as long as we do
    except OSError:
        os.close(held)
        held = -1
    finally:
        os.close(waiting)
    return mark, held
