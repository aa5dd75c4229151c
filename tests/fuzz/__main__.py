"""`python -m tests.fuzz`: runs the fuzzer on all cores, or one command again.

`--executed N` commands are run in total, `--seconds N` ends the run earlier, `--seed N` repeats one, `--workers N` sets
the number of processes, `--replay JSON` judges and runs the command of one hole.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from tests.fuzz.oracle import holes
from tests.fuzz.rule_sets import RuleSet, policy_bench
from tests.fuzz.sandbox import Sandbox, SandboxError
from tests.fuzz.workers import run

LEAST_SHARE = 20.0
"""Per cent of the generated commands that must be allowed for the run to be meaningful."""


def main() -> int:
    options = _options()
    try:
        if options.replay:
            return replay(options.replay)
        tally = run(options.seed, options.executed, options.seconds, options.workers)
    except SandboxError as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 2
    for number, hole in enumerate(tally.holes):
        print(hole)
        if options.holes:
            options.holes.mkdir(parents=True, exist_ok=True)
            (options.holes / f"{tally.seed}-{number}.txt").write_text(f"{hole}\n", errors="backslashreplace")
    if tally.share < LEAST_SHARE:
        print(f"fuzz: only {tally.share:.1f} % of the commands were allowed, at least {LEAST_SHARE:.0f} % are wanted")
    print(tally)
    return 1 if tally.holes or tally.share < LEAST_SHARE else 0


def replay(text: str) -> int:
    given = json.loads(text)
    rule_set = RuleSet(*(tuple(given.get(name, ())) for name in ("allow", "deny", "ask")))
    allowed = policy_bench(rule_set)(given["command"])
    with Sandbox() as sandbox:
        report = sandbox.run(given["command"])
    found = holes(report, rule_set)
    print("the policy allows it" if allowed else "the policy does not allow it")
    print(f"what it did: {json.dumps(report)}")
    print("\n".join(f"not permitted: it {sentence}" for sentence in found) or "nothing it did was forbidden")
    return 1 if allowed and found else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--executed", type=int, default=50_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", default=str(int.from_bytes(os.urandom(4))))
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--holes", type=Path, help="a folder where each hole is written to a file")
    parser.add_argument("--replay", help="the JSON a hole was printed with")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
