"""Rule sets: the rules a batch of commands is judged by, and the policy that judges them."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple, TypeAlias

from bobstay.permissions.access import Access, Effect
from bobstay.permissions.policy import Policy
from bobstay.permissions.rule import Rule
from tests.fuzz import fixture_tree

Judge: TypeAlias = Callable[[str], bool]
"""Whether a command may run without asking."""


class RuleSet(NamedTuple):
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()

    @property
    def broad(self) -> bool:
        """Everything that is not denied is allowed, so only denied actions count as holes."""
        return "Bash" in self.allow


Bench: TypeAlias = Callable[[RuleSet], Judge]
"""Creates the judge of a rule set; a planted hole is a separate bench."""

RECORDED = (
    "Bash(npm run test:*)",
    "Bash(npm test *)",
    "Bash(npm run lint *)",
    "Bash(npm run build)",
    "Bash(make *)",
    "Bash(make)",
    "Bash(pytest *)",
    "Bash(python -m pytest *)",
    "Bash(go test *)",
    "Bash(cargo build:*)",
    "Bash(docker compose *)",
    "Bash(gh pr create *)",
    "Bash(mypy *)",
    "Bash(./scripts/build.sh *)",
    "Bash(tar *)",
    "Bash(yarn test *)",
    "Bash(tee -a logs/err.txt)",
    "Bash(cp a.txt *)",
    "Bash(npx eslint *)",
)
"""Allow rules about programs that only record themselves, so that their coverage is known exactly."""
REAL = (
    "Bash(git log:*)",
    "Bash(git diff *)",
    "Bash(git show *)",
    "Bash(git status)",
    "Bash(echo:*)",
    "Bash(printf *)",
    "Bash(ls *)",
    "Bash(cat *)",
    "Bash(sed *)",
    "Bash(find *)",
    "Bash(sort:*)",
    "Bash(awk *)",
    "Bash(rg *)",
    "Bash(grep *)",
    "Bash(head *)",
)
"""Allow rules about real programs. What these read outside is then permitted."""
WRITING = ("Bash(git commit *)", "Bash(git add *)", "Bash(git stash *)", "Bash(git checkout *)")
EDITS = ("Edit(docs/**)", "Edit(/logs/**)", "Edit(./out.txt)", "Edit(**)")
READS = ("Read(./secret.txt)", "Read(./secrets/**)", "Read(secret.txt)", "Read(.env)", "Read(**/*.pem)")
DENIED = ("Bash(marker:*)", "Bash(rm:*)", "Bash(curl *)", "Bash(npm publish:*)", "Bash(git push *)", "Bash(touch *)")
UNEDITED = ("Edit(secrets/**)", "Edit(docs/changes.txt)", "Edit(./logs/**)")


def draw(dice: Random) -> RuleSet:
    """Rules of one of several kinds: none, some narrow ones, or everything but what is denied."""
    kind = dice.random()
    if kind < 0.2:
        return RuleSet(deny=_some(dice, DENIED, 0, 2))
    if kind < 0.3:
        return RuleSet(("Bash",), (DENIED[0], *_some(dice, DENIED[1:], 1, 3), *_some(dice, READS, 0, 2)))
    allow = [*_some(dice, RECORDED, 1, 5), *_some(dice, EDITS, 0, 1)]
    if kind < 0.65:
        allow += _some(dice, REAL, 1, 4)
    if kind > 0.9:
        allow += _some(dice, WRITING, 1, 2)
    deny = (*_some(dice, DENIED, 0, 2), *_some(dice, READS, 0, 2), *_some(dice, UNEDITED, 0, 1))
    return RuleSet(tuple(allow), deny, _some(dice, ("Bash(git push *)", "Bash(npm run test -- --watch:*)"), 0, 1))


def policy_bench(rule_set: RuleSet) -> Judge:
    """The real policy, with the file tree of the sandbox."""
    lists = ((Effect.ALLOW, rule_set.allow), (Effect.DENY, rule_set.deny), (Effect.ASK, rule_set.ask))
    rules = [Rule.parse(text, effect, "project") for effect, texts in lists for text in texts]
    policy = Policy(
        "default",
        rules,
        root=fixture_tree.ROOT,
        home=fixture_tree.HOME,
        readlink=fixture_tree.readlink,
        fold_case=False,
    )

    def judge(command: str) -> bool:
        decision = policy.judge("Bash", (Access("exec", command),), {"command": command}, read_only=False)
        return decision.effect is Effect.ALLOW

    return judge


def _some(dice: Random, pool: tuple[str, ...], least: int, most: int) -> tuple[str, ...]:
    return tuple(dice.sample(pool, dice.randint(least, most)))
