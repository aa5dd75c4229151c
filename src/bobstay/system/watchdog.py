"""A watchdog process that ends our child processes if this process is killed.

It waits on a pipe that only this process holds. When this process ends for whatever reason, the watchdog ends every
process with our mark or tag, and then itself. A parent-death signal would have to be set between fork and exec, which
prevents the fast way of starting a process; it is lost at the second fork and bound to a thread. The watchdog is
started once, for all children.
"""

import os
import subprocess

from bobstay.system.process_marker import tag_of
from bobstay.system.process_tree import MARK

_SCRIPT = """
read -r _ && exit 0
tries=0
how=TERM
while [ $tries -lt 60 ]; do
  found=$(
    grep -slaF -e "$1" /proc/[0-9]*/environ
    grep -slE -e "^Max resident set +$2[0-9]{9} " /proc/[0-9]*/limits
  )
  [ -n "$found" ] || exit 0
  for file in $found; do
    process=${file#/proc/}
    kill -$how "${process%/*}" 2>/dev/null
  done
  [ $how = KILL ] || sleep 0.2
  how=KILL
  tries=$((tries + 1))
done
"""
_marks: dict[int, str] = {}
_held: dict[int, int] = {}


def mark_of_this_process() -> str:
    """Return the mark that every process started by this one has in its environment."""
    return _marks.setdefault(os.getpid(), os.urandom(8).hex())


def start_watchdog(inherited: str = "") -> None:
    """Start the watchdog, once per process. It has the inherited mark of our parent, if there is one, but not ours."""
    if os.getpid() in _held:
        return
    _held.clear()  # after a fork the parent's watchdog is not ours
    mark = mark_of_this_process()
    waiting, held = os.pipe()
    _held[os.getpid()] = held
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, "bobstay-watchdog", mark, tag_of(mark)],
            stdin=waiting,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"} | ({MARK: inherited} if inherited else {}),
            start_new_session=True,
        )
        process.returncode = 0  # it is never waited for: it lives as long as we do
    except OSError:
        os.close(held)  # no watchdog then; child processes still end with each call and each session
    finally:
        os.close(waiting)
