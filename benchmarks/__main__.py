"""`python -m benchmarks [--only start,step] [--rounds 9] [--peers codex,pi]`; also `profile start` and `decisions`."""

import argparse
import os
import sys
from pathlib import Path

import msgspec

from benchmarks.contenders import found, ours, search_path, with_version
from benchmarks.machine import adopt_orphans
from benchmarks.page import with_measures
from benchmarks.report import report
from benchmarks.run import Measured
from benchmarks.scratch import Scratch
from benchmarks.suite import TOPICS, rounds

HERE = Path(__file__).parent


def main() -> int:
    if sys.argv[1:2] == ["profile"]:
        from benchmarks.profiling import main as profile

        return profile(sys.argv[2:])
    if sys.argv[1:2] == ["decisions"]:
        from benchmarks.decisions import main as decisions

        return decisions(sys.argv[2:])
    options = _options()
    folder = os.environ.get("BOBSTAY_PEERS", "")
    peers = [peer for peer in found(folder) if options.peers is None or peer.name in options.peers]
    missing = set(options.peers or ()) - {peer.name for peer in peers}
    if missing:
        print(f"not found in BOBSTAY_PEERS ({folder or 'not set'}): {', '.join(sorted(missing))}", file=sys.stderr)
    adopt_orphans()
    contenders = [ours(options.command), *peers]
    runs: list[Measured] = []
    with Scratch(contenders) as scratch, options.raw.open("ab") as raw:
        search = search_path(folder)
        contenders = [with_version(one, scratch.home(one), search) for one in contenders]
        for run in rounds(options.only, contenders, scratch, search, options.rounds):
            runs.append(run)
            raw.write(msgspec.json.encode(run) + b"\n")
            raw.flush()
            _tell(run)
    text = report(runs, contenders, options.rounds)
    print(text)
    if options.write:
        page = HERE / "results.md"
        page.write_text(with_measures(page.read_text(encoding="utf-8"), text), encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    def names(text: str) -> list[str]:
        return [name for name in text.split(",") if name]

    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure bobstay beside its peers.")
    parser.add_argument("--only", type=names, default=list(TOPICS), help=f"some of {','.join(TOPICS)}")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--peers", type=names, help="only these of the peers that are found; '' for none")
    parser.add_argument("--command", default="", help="our command, if not the one beside this Python")
    parser.add_argument("--raw", type=Path, default=HERE / "results.jsonl", help="where each run is added as a line")
    parser.add_argument("--no-write", dest="write", action="store_false", help="leave benchmarks/results.md alone")
    options = parser.parse_args()
    if unknown := set(options.only) - set(TOPICS):
        parser.error(f"--only knows {', '.join(TOPICS)}, not {', '.join(sorted(unknown))}")
    return options


def _tell(run: Measured) -> None:
    step = f"{sorted(run.gaps)[len(run.gaps) // 2] * 1000:7.1f} ms a step" if run.gaps else ""
    print(
        f"{run.contender:8} {run.scenario:13} {run.wall:7.3f} s wall {run.processor:7.3f} s processor"
        f" {run.resident / 1e6:6.0f} MB {run.others:4.0%} others {step}{'' if run.good else '  FAILED'}",
        file=sys.stderr,
    )
    if not run.good:
        print(run.output, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
