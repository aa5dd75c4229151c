"""`python -m benchmarks.hook_steps [--rounds 15]`: a step with hooks for other tools, against one with none."""

import argparse
import json
import random
import statistics
import sys

from msgspec.structs import replace

from benchmarks import figures, run
from benchmarks.contenders import ours, search_path
from benchmarks.machine import adopt_orphans
from benchmarks.scratch import Scratch

STEPS = 50
HOOKS = 100
"""For each event of a call: half of them patterns, half of them names."""
LIMIT = 1.05
PROOF = "hooks-were-read"
"""A file that a hook of the same settings makes at the start: settings that nobody reads cost nothing."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hook_steps", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--command", default="", help="our command, if not the one beside this Python")
    options = parser.parse_args()
    adopt_orphans()
    plain = ours(options.command)
    hooked = replace(plain, name="hooked", files={**plain.files, ".claude/settings.json": _settings()})
    steps: dict[tuple[str, str], list[float]] = {}
    with Scratch([plain, hooked]) as scratch:
        for _ in range(options.rounds):
            for scenario in ("read", "shell"):
                for contender in random.sample((plain, hooked), 2):
                    measured = run.measure(contender, scratch, search_path(""), scenario, STEPS)
                    if not measured.good:
                        print(measured.output, file=sys.stderr)
                        return 1
                    steps.setdefault((scenario, contender.name), []).append(figures.step(measured))
        if not (scratch.home(hooked) / PROOF).exists():
            print("The settings with the hooks were not read, so nothing was compared.", file=sys.stderr)
            return 1
    met = True
    print(f"| step, {HOOKS} hooks for other tools on each event of a call | without | with | ratio | at most |")
    print("|---|---|---|---|---|")
    for scenario in ("read", "shell"):
        without, with_ = steps[scenario, plain.name], steps[scenario, hooked.name]
        # By rounds: the two runs of one are next to each other, and the load of the machine changes slowly.
        ratio = statistics.median(one / other for one, other in zip(with_, without, strict=True))
        met = met and ratio <= LIMIT
        times = [f"{statistics.median(each) * 1000:.2f} ms" for each in (without, with_)]
        print(f"| {scenario} | {times[0]} | {times[1]} | {ratio:.3f} | {LIMIT} |")
    return 0 if met else 1


def _settings() -> str:
    matchers = [f"mcp__server{n}__.*" if n % 2 else f"Other{n}|Another{n}" for n in range(HOOKS)]
    groups = [{"matcher": matcher, "hooks": [{"type": "command", "command": "exit 2"}]} for matcher in matchers]
    events = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest")
    proof = {"hooks": [{"type": "command", "command": f'touch "$HOME/{PROOF}"'}]}
    return json.dumps({"hooks": {**dict.fromkeys(events, groups), "SessionStart": [proof]}})


if __name__ == "__main__":
    sys.exit(main())
