"""`python -m benchmarks.agent_tree [--rounds 5]`: 50 sub-agents at once in one process, against one and 50 sessions."""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys

from benchmarks.contenders import ours, search_path
from benchmarks.machine import adopt_orphans
from benchmarks.model.script import TREE_STEPS
from benchmarks.scratch import Scratch

AGENTS = 50
MEMORY_LIMIT = 3.0
PACE_LIMIT = 0.7


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agent_tree", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    adopt_orphans()
    contender = ours("")
    found: dict[str, list[dict[str, float]]] = {}
    with Scratch([contender]) as scratch:
        environment = contender.environment_for(scratch.home(contender), scratch.base, search_path(""))
        for _ in range(options.rounds):
            for kind in random.sample(("one", "tree", "sessions"), 3):
                count = 1 if kind == "one" else AGENTS
                done = subprocess.run(
                    [sys.executable, "-m", "benchmarks.agent_tree_process", kind, str(count), str(scratch.copy())],
                    env={**environment, "PYTHONPATH": os.getcwd()},
                    capture_output=True,
                    text=True,
                    check=False,
                )
                if done.returncode:
                    print(done.stderr[-2000:], file=sys.stderr)
                    return 1
                found.setdefault(kind, []).append(json.loads(done.stdout))
            scratch.tidy(contender)
    # By rounds: the runs of one are next to each other, and the load of the machine changes slowly.
    memory = _ratio([each["peak"] for each in found["tree"]], [each["peak"] for each in found["one"]])
    pace = _ratio([each["pace"] for each in found["tree"]], [each["pace"] for each in found["sessions"]])
    print(f"{AGENTS} sub-agents of {TREE_STEPS} steps in one process; load average {os.getloadavg()[0]:.1f}\n")
    print("| what | beside | found | ratio | goal |")
    print("|---|---|---|---|---|")
    one, tree = (_median(found[kind], "peak") / 2**20 for kind in ("one", "tree"))
    print(f"| peak memory | one sub-agent: {one:.0f} MB | {tree:.0f} MB | {memory:.2f} | at most {MEMORY_LIMIT} |")
    sessions, agents = (_median(found[kind], "pace") for kind in ("sessions", "tree"))
    print(
        f"| steps per second | {AGENTS} sessions: {sessions:.0f} | {agents:.0f} | {pace:.2f} | at least {PACE_LIMIT} |"
    )
    return 0 if memory <= MEMORY_LIMIT and pace >= PACE_LIMIT else 1


def _ratio(ours: list[float], beside: list[float]) -> float:
    return statistics.median(one / other for one, other in zip(ours, beside, strict=True))


def _median(found: list[dict[str, float]], name: str) -> float:
    return statistics.median(each[name] for each in found)


if __name__ == "__main__":
    sys.exit(main())
