"""A small process that outlives us just long enough to end what we started, should we be killed.

It waits on a pipe only we hold. When we are gone, by whatever cause, it wakes, ends every process that carries our
mark or wears our tag, and is gone too. A parent-death signal would have to be set between fork and exec, which costs
the fast way of starting a process, is lost at the second fork, and is bound to a thread: this does it once, for all
children.
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
    """The mark that everything started by this process shall carry in its environment."""
    return _marks.setdefault(os.getpid(), os.urandom(8).hex())


def guard(inherited: str = "") -> None:
    """Have a watchdog from now on. It carries the mark of whoever started us, if there is one, but not ours."""
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
        process.returncode = 0  # nobody waits for it: it lives as long as we do
    except OSError:
        os.close(held)  # then there is none; what we start still ends with each call and each session
    finally:
        os.close(waiting)
