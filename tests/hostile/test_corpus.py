"""Every attack of the corpus is contained, named in one message, and leaves nothing behind."""

from __future__ import annotations

import re
import shutil
from typing import Any

import pytest

from lessonpress.sandbox.worker_errors import MAY
from lessonpress.worker import kernel, landlock
from tests import tiers
from tests.hostile import attacks, world
from tests.hostile.conftest import PEOPLE, Person

pytestmark = [
    pytest.mark.hostile,
    pytest.mark.skipif(not (kernel.machine() is not None and landlock.level()),
                       reason="linux-strict needs Linux with Landlock on x86-64 or aarch64"),
]  # fmt: skip


def test_the_corpus_is_large_and_every_attack_says_what_it_does() -> None:
    """At least a hundred and fifty attacks, each with a sentence, a control, and lines of its own."""
    assert len(attacks.ALL) >= 150
    for attack in attacks.ALL.values():
        assert attack.sentence.endswith("."), attack.name
        assert attack.lines, attack.name
        assert "# control:\n" in attack.text, attack.name


def contained(attack: attacks.Attack, outcome: dict[str, Any]) -> None:
    """Hold an attack's end against what its file expects."""
    message = outcome["message"]
    assert outcome["changed"] == []
    if message is None:
        assert re.search(attack.ends or "a denial", "answered"), "nothing was denied"
        return
    assert re.search(attack.ends or attacks.DENIED, message), message
    assert world.SECRET not in message
    assert "Traceback" not in message
    assert len(message) < 6_000
    assert all(char.isprintable() or char == "\n" for char in message), message
    if not attack.ends:
        assert MAY in message
        assert any(f"the line reads `{line}`" in message for line in attack.lines), message


# Who runs an attack, and whether alone or after others: each attack is tried in one of these ways with every push, the
# ways taking turns, and in all of them at night.
WAYS = [(name, kept) for name in PEOPLE for kept in (False, True)]


def day_way(at: int) -> tuple[str, bool]:
    """The way of an attack by day: each fourth alone, which is as slow as torch is to load; people take turns."""
    kept = at % 4 != 3
    return PEOPLE[(at if kept else at // 4) % len(PEOPLE)], kept


def turns() -> list[Any]:
    """Every attack in every way; `nightly` but where it is the way's turn."""
    return [
        pytest.param(person, name, kept, id=f"{name}-{person}-{'one of many' if kept else 'alone'}",
                     marks=() if (person, kept) == day_way(at) else pytest.mark.nightly)
        for at, name in enumerate(attacks.ALL) for person, kept in WAYS
    ]  # fmt: skip


@pytest.mark.parametrize(("person", "name", "kept"), turns(), indirect=["person"])
def test_an_attack_is_contained(person: Person, name: str, kept: bool) -> None:
    """As this user and as an ordinary one, alone and after others, by the worker's own confinement alone."""
    contained(attacks.ALL[name], person.attempts(name, kept=kept))


@pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")
@pytest.mark.parametrize("person", PEOPLE[-1:], indirect=True)
@pytest.mark.parametrize("name", tiers.some(attacks.ALL, 3))
def test_an_attack_is_contained_in_bubblewrap(person: Person, name: str) -> None:
    """The outer layer, where it starts, neither opens a hole nor changes what a curator reads."""
    contained(attacks.ALL[name], person.attempts(name, outer="auto", kept=True))


@pytest.mark.parametrize("name", tiers.some([name for name, attack in attacks.ALL.items() if attack.open], 2))
def test_the_attack_would_succeed_without_confinement(person: Person, name: str) -> None:
    """What is denied is possible for the same user otherwise: the corpus tests the confinement, not the machine."""
    outcome = person.attempts(name, confined=False)
    assert outcome["message"] is None, outcome
