"""Two curators merge, rebase, cherry-pick, revert and stash at random; the one command always leads to a good state."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

import pytest

from lessonpress.publishing import merge, verify
from lessonpress.publishing.verdict import IDENTICAL
from lessonpress.revision import history
from tests import curators, tiers
from tests.curators import Curator

WORDS = ("One", "Two", "Three", "Four")
LESSONS = [f"lesson-{number}" for number in range(tiers.amount(3, 10))]
STEPS = tiers.amount(7, 30)
FILE = re.compile(r"results/models/([^/]+)/([0-9a-f]{16})/identity\.json")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with two clones of one repository."""
    root = tmp_path_factory.mktemp("many")
    curators.begin(root, LESSONS).clone("bob")
    return root


class Story:
    """Two curators, and dice."""

    def __init__(self, root: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.pair = [Curator("ada", root / "ada"), Curator("bob", root / "bob")]
        for one, other in (self.pair, self.pair[::-1]):
            one.git("remote", "remove", "origin", good=False)
            one.git("remote", "add", "origin", str(other.folder))
            one.git("fetch", "--quiet", "origin")

    def work(self, one: Curator) -> None:
        """Publish a lesson or two, one commit each."""
        for slug in self.dice.sample(LESSONS, self.dice.randint(1, 2)):
            one.edit(slug, self.dice.choice(["title", "question"]), self.dice.choice(WORDS))
            one.publish(slug, note=f"by {one.name}")
            one.commit(f"{one.name}: {slug}")

    def disturb(self, one: Curator) -> str:
        """Let git do one of the things that it does; says which."""
        one.git("fetch", "--quiet", "origin")
        what = self.dice.choice(["merge", "merge", "rebase", "cherry-pick", "revert", "stash", "merge-ours"])
        if what == "stash":
            slug = self.dice.choice(LESSONS)
            one.edit(slug, "title", "Stashed")
            one.publish(slug)
            one.git("stash", "--quiet", *(["--include-untracked"] if self.dice.random() < 0.7 else []))
            if one.git("status", "--porcelain").stdout:  # without them the new folder stays where it is
                self.settle(one)
            self.work(one)
            one.git("stash", "pop", "--quiet", good=False)
        elif what == "revert":
            first = one.git("rev-list", "--max-parents=0", "HEAD").stdout.split()
            commits = one.git("rev-list", "--no-merges", "--max-count=6", "HEAD").stdout.split()
            some = [commit for commit in commits if commit not in first]
            if some:
                one.git("revert", "--no-edit", self.dice.choice(some), good=False)
        elif what == "cherry-pick":
            missing = one.git("rev-list", "--no-merges", "HEAD..origin/main").stdout.split()
            if missing:
                one.git("cherry-pick", "--keep-redundant-commits", self.dice.choice(missing), good=False)
        else:
            words = ["merge", "-s", "ours"] if what == "merge-ours" else [what]
            edit = ["--no-edit"] if words[0] == "merge" else []
            one.git(*words, *edit, "origin/main", good=False)
        return what

    def settle(self, one: Curator) -> None:
        """Resolve the recipes, as only an author can, and type the one command until git has nothing to go on with."""
        for _ in range(60):
            for name in one.git("diff", "--name-only", "--diff-filter=U", "--", "lessons").stdout.split():
                one.git("checkout", self.dice.choice(["--ours", "--theirs"]), "--", name)
                one.git("add", name)
            done = one.merge()
            assert [mistake.message() for mistake in done.mistakes] == []
            then = re.search(r"go on with: git (.*)", done.lines[-1] if done.lines else "")
            status = one.git("status").stdout
            if "rebase in progress" in status:
                one.git("add", "--all")
                one.git("rebase", "--continue", good=False)
            elif then and then[1] != "commit":
                one.git("add", "--all")
                if one.git(*then[1].split(), good=False).returncode:  # nothing is left of it
                    one.git("commit", "--quiet", "--allow-empty", "--message", "nothing left")
            elif one.git("status", "--porcelain").stdout or "still merging" in status:
                one.commit("merged")
            else:
                return
        raise AssertionError("it does not come to an end")


def list_published(one: Curator) -> set[tuple[str, str]]:
    """Every revision that any commit on the way here has published, by git's own account."""
    names = one.git("log", "--full-history", "-m", "--name-only", "--format=", "HEAD").stdout.splitlines()
    return {(match[1], match[2]) for name in names if (match := FILE.fullmatch(name))}


@pytest.mark.parametrize("seed", tiers.some(range(4), 4))
def test_the_one_command_always_leads_to_a_good_state(template: Path, tmp_path: Path, seed: int) -> None:
    """After every step the doctor is content and nothing published is lost; at the end both curators agree."""
    for name in ("ada", "bob"):
        shutil.copytree(template / name, tmp_path / name, symlinks=True)
    story = Story(tmp_path, seed)
    for number in range(STEPS):
        one = story.dice.choice(story.pair)
        story.work(one)
        what = story.disturb(one)
        story.settle(one)
        assert one.faults() == "", (seed, number, what)
        for slug, revision in list_published(one):
            past = history.read_history(one.config.published(slug), slug)
            assert history.has_revision(past, revision), (seed, number, what)
            assert (one.config.published(slug) / revision).is_dir(), (seed, number, what)
    ada, bob = story.pair
    for one in (bob, ada, bob):  # each takes what the other has
        one.git("fetch", "--quiet", "origin")
        one.git("merge", "--no-edit", "origin/main", good=False)
        story.settle(one)
    assert ada.git("rev-parse", "HEAD^{tree}").stdout == bob.git("rev-parse", "HEAD^{tree}").stdout
    assert list_published(ada) == list_published(bob)
    with curators.without_worker():
        verdicts = [verify.verify_lesson(bob.config, slug) for slug in LESSONS]
    assert {(verdict.slug, verdict.state, verdict.faults) for verdict in verdicts} == {
        (slug, IDENTICAL, ()) for slug in LESSONS
    }
    assert merge.merge(bob.config).lines == ()
