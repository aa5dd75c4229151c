"""One run of the fuzzer: draws rule sets and commands, judges them, runs the allowed ones, collects holes."""

import json
import shlex
import time
from collections.abc import Callable
from random import Random

from msgspec import Struct

from tests.fuzz.generator import Generator
from tests.fuzz.minimise import minimise
from tests.fuzz.oracle import holes
from tests.fuzz.rule_sets import Bench, Judge, RuleSet, draw, policy_bench
from tests.fuzz.sandbox import Report, Sandbox

BATCH = 100
"""Commands that are run with one rule set."""
TRIES = 25
"""The maximum of commands drawn with one rule set per command to run, because some rule sets allow little."""
MOST_DRAWN = 100
"""The maximum of commands drawn in total per command to run."""
MOST_HOLES = 20
MOST_LATE = 2
"""How often minimising a hole may time out before it is reported as it is."""


class Hole(Struct, frozen=True):
    """A command that was allowed and did something that is not permitted."""

    command: str
    """The minimised command."""
    original: str
    rule_set: RuleSet
    evidence: tuple[str, ...]

    def __str__(self) -> str:
        rules = {"allow": self.rule_set.allow, "deny": self.rule_set.deny, "ask": self.rule_set.ask}
        lines = [f"HOLE  {self.command!r}", f"  found as {self.original!r}"]
        lines += [f"  {name} {', '.join(texts)}" for name, texts in rules.items() if texts]
        lines += [f"  it {sentence}" for sentence in self.evidence[:5]]
        replay = json.dumps({"command": self.command, **rules})
        return "\n".join((*lines, f"  repeat: python -m tests.fuzz --replay {shlex.quote(replay)}"))


class Tally(Struct):
    """The result of a run."""

    seed: str
    generated: int = 0
    allowed: int = 0
    executed: int = 0
    """Different commands that were run; the same one in the same rule set counts once."""
    late: int = 0
    holes: list[Hole] = []

    @property
    def share(self) -> float:
        return 100 * self.allowed / self.generated if self.generated else 0.0

    def __str__(self) -> str:
        return (
            f"fuzz: {self.executed} executed of {self.generated} generated ({self.share:.1f} % allowed), "
            f"{len(self.holes)} holes, seed {self.seed}"
        )


class Campaign:
    """Draws the next batch while the sandbox runs the last one."""

    def __init__(self, sandbox: Sandbox, seed: str, bench: Bench = policy_bench) -> None:
        self.tally = Tally(seed)
        self._sandbox = sandbox
        self._bench = bench
        self._dice = Random(seed)
        self._seen: set[int] = set()
        self._known: set[str] = set()
        self._most_holes = MOST_HOLES

    def run(
        self,
        executed: int,
        *,
        seconds: float = float("inf"),
        most_holes: int = MOST_HOLES,
        progress: Callable[[Tally], None] | None = None,
    ) -> Tally:
        """Run until this many commands were run, this many holes were found, or the time is over."""
        self._most_holes = most_holes
        deadline = time.monotonic() + seconds
        waiting: tuple[RuleSet, Judge, list[str]] | None = None
        while True:
            running = len(waiting[2]) if waiting else 0
            over = time.monotonic() > deadline or len(self.tally.holes) >= most_holes
            over = over or self.tally.generated >= MOST_DRAWN * executed
            wanted = 0 if over else min(BATCH, executed - self.tally.executed - running)
            following = self._draw(wanted) if wanted > 0 else None
            if waiting is not None:
                self._judge_reports(*waiting, self._sandbox.receive_batch())
                if progress is not None:
                    progress(self.tally)
            if following is not None:
                self._sandbox.send_batch(following[2])
            elif waiting is None:
                return self.tally
            waiting = following

    def _draw(self, wanted: int) -> tuple[RuleSet, Judge, list[str]]:
        rule_set = draw(self._dice)
        judge = self._bench(rule_set)
        generator = Generator(self._dice, rule_set)
        found: list[str] = []
        for _ in range(TRIES * wanted):
            command = generator.command()
            self.tally.generated += 1
            if not self._allows(judge, rule_set, command):
                continue
            self.tally.allowed += 1
            key = hash((command, rule_set))
            if key not in self._seen:
                self._seen.add(key)
                found.append(command)
                if len(found) == wanted:
                    break
        return rule_set, judge, found

    def _allows(self, judge: Judge, rule_set: RuleSet, command: str) -> bool:
        try:
            return judge(command)
        except Exception as error:  # noqa: BLE001 - whatever a judge raises is a finding, not the end of the run
            self._add(Hole(command, command, rule_set, (f"made the judge fail: {error!r}",)), type(error).__name__)
            return False

    def _judge_reports(self, rule_set: RuleSet, judge: Judge, commands: list[str], reports: list[Report]) -> None:
        for command, report in zip(commands, reports, strict=True):
            self.tally.executed += 1
            self.tally.late += "late" in report
            if len(self.tally.holes) >= self._most_holes or not (evidence := holes(report, rule_set)):
                continue
            if "late" in report:  # a command that timed out may have left traces it would have removed: run it again
                evidence = holes(self._sandbox.run(command), rule_set)
            if evidence:
                self._report(command, rule_set, judge, evidence)

    def _report(self, command: str, rule_set: RuleSet, judge: Judge, evidence: list[str]) -> None:
        late = 0

        def still_fails(shorter: str) -> bool:
            nonlocal late
            if late >= MOST_LATE or not self._allows(judge, rule_set, shorter):
                return False
            report = self._sandbox.run(shorter)
            late += "late" in report
            return bool(holes(report, rule_set))

        smallest = minimise(command, still_fails)
        evidence = holes(self._sandbox.run(smallest), rule_set) or evidence
        self._add(Hole(smallest, command, rule_set, tuple(evidence)), smallest)

    def _add(self, hole: Hole, key: str) -> None:
        if key not in self._known:
            self._known.add(key)
            self.tally.holes.append(hole)
