"""Command merge: one good state of the published site after a git merge, rebase, cherry-pick, revert or stash.

It does not ask what happened. Every publication that the working tree, the commits on the way here, or the commits that
git is about to bring in know of is kept: histories are united, folders taken back, pages made again.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path

from lessonpress import __version__, sandbox
from lessonpress.build import source_record, steps
from lessonpress.core import atomic_io, canonical_json, git, lock
from lessonpress.core.errors import LessonError, LessonErrors
from lessonpress.core.settings import Config
from lessonpress.lesson import lesson_files, reader
from lessonpress.publishing import attestations, committed, compact, integrity, prune, publish, signatures, site
from lessonpress.revision import dated, history, packed, united_history
from lessonpress.revision.history import Event, History

COMMAND = "lessonpress merge"  # history.TAKE_BACK names it too
STASH = "refs/stash"


@dataclass(frozen=True)
class Result:
    """What a merge has done, a line each, and what only a person can do."""

    lines: tuple[str, ...]
    mistakes: tuple[LessonError, ...]


@dataclass
class _Known:
    """What git knows of the published site: the commits that count, and every history that led to them."""

    results: Path
    tips: Mapping[str, str]  # by git's name of it; HEAD is one
    base: str | None  # the commit from which HEAD and the other tip went apart
    unmerged: frozenset[str]
    histories: dict[str, list[History]] = field(default_factory=dict)  # by slug, the newest first

    def others(self) -> list[str]:
        return [commit for name, commit in self.tips.items() if name != "HEAD"]


def merge(config: Config, *, publishing: bool = True) -> Result:
    """Lead the published site to a good state, whatever git has done to it; what was done, in words.

    With `publishing`, lessons whose source is not what their last revision holds are published as well. Raises
    LessonError outside git, where nothing tells what was published.
    """
    results = Path(config.results)
    if not git.has_commits(next(path for path in (results, *results.absolute().parents) if path.is_dir())):
        raise LessonError(os.path.relpath(results), "this lies in no git repository with a commit", "",
                          "merge takes from the commits what was published.")  # fmt: skip
    lines: list[str] = []
    with lock.hold(results):
        known = _read_known(results)
        changed = set()
        for slug in _list_slugs(results, known):
            said = list(_unite_lesson(config, slug, known))
            lines += said
            changed |= {slug} if said else set()
    mistakes: list[LessonError] = []
    if publishing:
        for line in _publish_due(config, changed, mistakes):
            lines.append(line)
    pages = site.write_site(config)
    lines += [pages] if pages != "site: unchanged" else []
    lines += _settle_index(config, known, mistakes)
    return Result(tuple(lines), tuple(mistakes))


def _read_known(results: Path) -> _Known:
    unmerged = frozenset(git.list_unmerged(results))
    tips = {"HEAD": str(git.find_commit(results, "HEAD"))}
    unfinished = git.list_unfinished(results)
    tips |= {f"{name}:{number}": commit for number, (name, commit) in enumerate(unfinished)}
    base = None
    if unfinished:
        name, commit = unfinished[0]
        base = git.find_merge_base(results, "HEAD", commit) if name == "MERGE_HEAD" else \
            git.find_commit(results, f"{commit}^")  # fmt: skip
    elif unmerged and (stash := git.find_commit(results, STASH)):
        tips[STASH], base = stash, git.find_commit(results, f"{STASH}^")
    known = _Known(results, tips, base, unmerged)
    changes = git.list_committed_changes(results, tips.values())
    matches = [(committed.FILE.fullmatch(name), blob) for kind, name, blob in changes if kind != "D"]
    blobs = {blob: match[1] for match, blob in matches if match and not match[2]}
    read = git.read_objects(results, blobs)
    for blob, slug in reversed(blobs.items()):
        if blob in read and (one := history.parse_history(read[blob])) and one["slug"] == slug:
            known.histories.setdefault(slug, []).append(one)
    return known


def _list_slugs(results: Path, known: _Known) -> list[str]:
    return sorted({*history.list_published(results), *known.histories})


def _unite_lesson(config: Config, slug: str, known: _Known) -> Iterator[str]:
    """Unite one lesson's histories and bring its folders in order; yields what was done."""
    folder = config.published(slug)
    before = _read_present(folder, slug)
    sides, pins = _collect_sides(folder, slug, known, before)
    pinned = united_history.choose_pin(*pins) if pins else None
    united = united_history.unite_histories(slug, sides, pinned=pinned)
    lost = united_history.find_lost_events(united, known.histories.get(slug, []))
    orphans = list(_find_orphans(folder, united))
    if lost or orphans:
        found: History = {**history.start_history(slug), "revisions": orphans}
        united = united_history.unite_histories(slug, [united, *lost, found], pinned=pinned)
    if not united["revisions"]:
        return
    if (config.lesson(slug) / reader.RECIPE).is_file():
        united.pop("retired", None)
    yield from _bring_back(folder, united, known)
    _remove_what_is_gone(folder, united)
    united = {**united, "revisions": list(_explain_events(folder, united))}
    compact.settle_lesson(config, slug, united)
    text = history.serialise(united)
    if before is None or not site.is_current(folder / history.FILE, text):
        atomic_io.write(folder / history.FILE, text)
        yield from _describe(slug, before, united)
        if pins and len({side["pinned"] for side in pins if side}) > 2 - (pins[2] is None):
            ours, theirs = (side["pinned"] for side in pins[:2])
            yield f"{slug}: both sides moved the pin, to {ours} and to {theirs}; ours stays"


def _read_present(folder: Path, slug: str) -> History | None:
    """The history in the working tree, where it is sealed as lessonpress seals it."""
    path = folder / history.FILE
    data = path.read_bytes() if path.is_file() else b""
    present = history.parse_history(data)
    return present if present and present["slug"] == slug and history.serialise(present).encode() == data else None


def _collect_sides(
    folder: Path, slug: str, known: _Known, present: History | None
) -> tuple[list[History], tuple[History, History, History | None] | None]:  # fmt: skip
    """The histories to unite, the most trusted first; and ours, theirs and the one from which both have grown."""
    head, *others = (_read_committed(folder, commit) for commit in (known.tips["HEAD"], *known.others()))
    theirs = [other for other in others if other]
    ours = present or head
    base = _read_committed(folder, known.base) if known.base else None
    pins = (ours, theirs[0] if theirs else ours, base) if ours else None
    left = history.parse_history((folder / history.FILE).read_bytes()) if (folder / history.FILE).is_file() else None
    # What a text merge has left in the file: an event that no commit holds may be in it, such as one of a stash.
    loose = [left] if left and left["slug"] == slug and not present else []
    events = [event for side in loose for event in side["revisions"] if packed.exists(folder / event["revision"])]
    rest: list[History] = [{**side, "revisions": events} for side in loose]
    return [*(side for side in (head, *theirs, present) if side), *rest], pins


def _read_committed(folder: Path, commit: str) -> History | None:
    models = folder.parent  # the lesson's own folder may be gone
    data = git.read_blob(models if models.is_dir() else models.parent, commit, folder / history.FILE)
    read = history.parse_history(data) if data else None
    return read if read and read["slug"] == folder.name else None


def _find_orphans(folder: Path, united: History) -> Iterator[Event]:
    """An event for each whole folder that no history names: the stash's, else one of the moment of its run."""
    named = {event["revision"] for event in united["revisions"]}
    named |= {one["revision"] for one in history.list_removals(united)}
    for name in integrity.list_revisions(folder):
        if name in named or integrity.find_revision_faults(folder / name, folder.name):
            continue
        stash = _read_committed(folder, STASH) or history.start_history(folder.name)
        stored = [event for event in stash["revisions"] if event["revision"] == name]
        made: Event = {"revision": name, "publishedAt": prune.read_date(folder / name), "reasons": [], "note": None}
        yield from stored or [made]


def _bring_back(folder: Path, united: History, known: _Known) -> Iterator[str]:
    """Take back folders that are gone or changed, and of two copies of a revision the one that ran first.

    What HEAD has published keeps its bytes where no merge commit will tell of another copy, as in a rebase.
    """
    slug, models = folder.name, folder.parent
    conflicts = {name.split("/")[2] for name in known.unmerged if name.startswith(f"models/{slug}/")}
    first = {event["revision"]: event["publishedAt"] for event in reversed(united["revisions"])}
    for name, moment in sorted(first.items()):
        place = folder / name
        whole = packed.exists(place) and not integrity.find_revision_faults(place, slug)
        if whole and name not in conflicts and prune.read_date(place) <= moment:
            continue
        merging = any(tip.startswith("MERGE_HEAD") for tip in known.tips)
        copies = [] if merging else list(_list_copies(models, slug, name, known.results, [known.tips["HEAD"]]))
        copies = copies or list(_list_copies(models, slug, name, known.results, list(known.tips.values())))
        if not copies:
            continue  # no commit holds it: the doctor says so
        _, files = min(copies, key=lambda copy: copy[0])
        here = _read_present_files(place)
        if here != files:
            _write_folder(place, files)
            yield f"{slug}: {'put in order' if here else 'took back'} revision {name}, as a commit holds it"


def _read_present_files(place: Path) -> dict[str, bytes]:
    try:
        return packed.read_files(place) if packed.exists(place) else {}
    except LessonError:
        return {}


def _list_copies(
    models: Path, slug: str, name: str, top: Path, tips: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], dict[str, bytes]]]:  # fmt: skip
    """Every whole copy of a revision that a commit holds, with the moments of its run and of its publication.

    A digest stands behind these, so that every clone prefers the same copy.
    """
    at = f"models/{slug}/{name}"
    seen = set()
    listed = (reversed(git.list_commits(top, top / path, tips)) for path in (at, at + packed.SUFFIX))
    for commit in chain.from_iterable(listed):
        blobs = git.list_blobs(top, commit, at) or git.list_blobs(top, commit, at + packed.SUFFIX)
        key = canonical_json.digest_of(blobs)
        if not blobs or key in seen:
            continue
        seen.add(key)
        data = git.read_objects(top, set(blobs.values()))
        files = {path.removeprefix(f"{at}/"): data[blob] for path, blob in blobs.items() if blob in data}
        if list(files) == [at + packed.SUFFIX]:
            with contextlib.suppress(*packed.READ_ERRORS):
                files = packed.unpack(files[at + packed.SUFFIX], partial(_read_beside, models / slug, commit))
        if not list(integrity.find_file_faults(files, slug, name)):
            manifest = canonical_json.loads(files["manifest.json"])
            yield (str(manifest["provenance"]["capturedAt"]), dated.read_moment(files),
                   canonical_json.digest(files["SHA256SUMS"])), files  # fmt: skip


def _read_beside(folder: Path, commit: str, name: str) -> bytes:
    """An archive of a lesson's folder as a commit holds it, else as it is here."""
    data = git.read_blob(folder.parent, commit, folder / name)
    return (folder / name).read_bytes() if data is None else data


def _write_folder(place: Path, files: Mapping[str, bytes]) -> None:
    """Put a whole revision folder into its place, instead of what is there."""
    beside = place.with_name(f".{place.name}.tmp-{os.getpid()}")
    shutil.rmtree(beside, ignore_errors=True)
    for name, data in files.items():
        (beside / name).parent.mkdir(parents=True, exist_ok=True)
        (beside / name).write_bytes(data)
    atomic_io.flush([beside / name for name in files])
    packed.remove(place)
    os.rename(beside, place)


def _remove_what_is_gone(folder: Path, united: History) -> None:
    """What one side has withdrawn or dropped goes on the other side as well."""
    for one in history.list_removals(united):
        packed.remove(folder / one["revision"])
        for beside in (signatures, attestations):
            beside.locate(folder / one["revision"]).unlink(missing_ok=True)


def _explain_events(folder: Path, united: History) -> Iterator[Event]:
    """The events with reasons that compare each with the one before it, now that others may stand between."""
    before: str | None = None
    for event in united["revisions"]:
        yield {**event, "reasons": _compute_reasons(folder, before, event)}
        before = event["revision"]


def _compute_reasons(folder: Path, before: str | None, event: Event) -> list[str]:
    try:
        return prune.list_reasons(folder, before, event["revision"])
    except (LessonError, OSError, *integrity.READ_ERRORS):
        return event["reasons"]  # the doctor reports the damage


def _describe(slug: str, before: History | None, united: History) -> Iterator[str]:
    had = [event["revision"] for event in before["revisions"]] if before else []
    new = [event["revision"] for event in united["revisions"] if event["revision"] not in had]
    words = f"with {', '.join(dict.fromkeys(new))}" if new else "in order again"
    pin = f", pinned to {united['pinned']}" if united["pinned"] else ""
    yield f"{slug}: {len(united['revisions'])} publications, {words}; current is {united['current']}{pin}"


def _publish_due(config: Config, changed: set[str], mistakes: list[LessonError]) -> Iterator[str]:
    """Publish every lesson whose source is not what its last revision holds; a mistake stops that lesson alone."""
    lessons = Path(config.lessons)
    conflicts = set(git.list_unmerged(lessons)) if lessons.is_dir() else set()
    with sandbox.keep_servers():
        for slug in lesson_files.slugs(lessons) if lessons.is_dir() else []:
            mine = sorted(name for name in conflicts if name.startswith(f"{slug}/"))
            if mine:
                mistakes.append(LessonError(os.path.relpath(lessons / mine[0]), "git has left this file in conflict",
                                            "one text", f"Edit it, git add it, then type: {COMMAND}"))  # fmt: skip
                continue
            try:
                if _is_due(config, slug, slug in changed):
                    yield from _publish_lesson(config, slug)
            except LessonErrors as errors:
                mistakes += errors.errors
            except LessonError as error:
                mistakes.append(error)


def _is_due(config: Config, slug: str, changed: bool) -> bool:
    """Whether a lesson that was published has another source than its last revision, or was put together anew."""
    folder = config.published(slug)
    latest = history.find_latest(history.read_history(folder, slug))
    if latest is None:
        return False
    record, _ = source_record.hash_lesson(config.lesson(slug))
    with integrity.explain_damage(folder / latest):
        if dict(history.read_document(folder / latest / "identity.json")["digests"]) != dict(record["digests"]):
            return True
        made_by = history.read_document(folder / latest / "manifest.json")["provenance"].get("lessonpress")
        return changed and made_by != __version__


def _publish_lesson(config: Config, slug: str) -> Iterator[str]:
    work = steps.open_build(config, slug)
    steps.perform_all(work)
    done = publish.publish(work)
    if done.mistakes:
        raise LessonErrors(list(done.mistakes))
    steps.sweep_states(work)
    if done.words and "unchanged" not in done.words:
        yield done.words


def _settle_index(config: Config, known: _Known, mistakes: Sequence[LessonError]) -> Iterator[str]:
    """Tell git that the site's conflicts are resolved, where it waits for that; else say how to commit."""
    results = Path(config.results)
    unfinished = [name.partition(":")[0] for name in known.tips if name not in ("HEAD", STASH)]
    if known.unmerged or unfinished:
        git.add_all(results)
        go_on = {"MERGE_HEAD": "git commit", "REBASE_HEAD": "git rebase --continue",
                 "CHERRY_PICK_HEAD": "git cherry-pick --continue", "REVERT_HEAD": "git revert --continue"}  # fmt: skip
        then = next((go_on[name] for name in unfinished), "git commit")
        yield f"{os.path.relpath(results)} is staged" + ("" if mistakes else f"; go on with: {then}")
    elif git.has_changes(results):
        where = os.path.relpath(results)
        yield f"Commit it: git add {where} && git commit"
