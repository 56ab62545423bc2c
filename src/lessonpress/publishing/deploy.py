"""Command deploy: the published site as a folder that any static host can serve, with every link followed.

What lies in git is the source of it: this folder has besides a page at each address that was withdrawn, and the file
that keeps GitHub Pages from leaving out names that begin with a dot or an underscore.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from lessonpress.core import atomic_io, lock
from lessonpress.core.errors import LessonError, LessonErrors, WrongUsage
from lessonpress.core.settings import Config
from lessonpress.publishing import links, site
from lessonpress.revision import history, packed
from lessonpress.web.page import site_pages

MARK = ".nojekyll"
FROZEN = re.compile(r"models/[^/]+/[0-9a-f]{16}/")  # pages of revisions, which never change


def deploy(config: Config, out: Path) -> str:
    """Build the site into `out`, which is new, empty, or was built by this command; what was done, in words.

    Raises WrongUsage for a folder of somebody else's, LessonErrors where a link leads nowhere.
    """
    results = Path(config.results)
    if not (results / "index.html").is_file():
        raise LessonError(os.path.relpath(results), "nothing is published here", "", "Type: snakemake --cores 1")
    _clear_folder(results, out)
    atomic_io.write(out / MARK, "")  # first, so that a build which was stopped may be done again
    with lock.hold(results):
        shutil.copytree(results, out, ignore=_list_private, dirs_exist_ok=True)
    for folder in (out / "models" / slug for slug in history.list_published(out)):
        for name in packed.list_revisions(folder):
            if not (folder / name).is_dir():
                packed.unpack_folder(folder / name)
        packed.sweep_shared(folder)
        _add_tombstones(folder)
    broken = list(links.find_broken_links(out, config.site.base_url))
    ours = [(page, link) for page, link in broken if not FROZEN.match(page)]
    if ours:
        raise LessonErrors([LessonError(f"{out}/{page}", f"the link {link} leads nowhere") for page, link in ours])
    count = sum(path.is_file() for path in out.rglob("*"))
    done = [f"{out}: {count} files, ready to be served; every link around the lessons leads somewhere"]
    # What was published cannot be mended: it is said, and no reason to serve nothing.
    done += [f"  {page}: the link {link} leads nowhere" for page, link in broken if FROZEN.match(page)]
    return "\n".join(done)


def _clear_folder(results: Path, out: Path) -> None:
    place, source = out.resolve(), results.resolve()
    inside = place == source or place in source.parents or source in place.parents
    if inside or (out.exists() and not out.is_dir()):
        raise WrongUsage(str(out), "the site cannot be built here", "a folder of its own")
    if out.is_dir() and any(out.iterdir()):
        if not (out / MARK).is_file() or (out / ".git").exists():
            raise WrongUsage(str(out), "there is something else in this folder", "a new or an empty one, "
                             "or one that this command has made")  # fmt: skip
        shutil.rmtree(out)


def _list_private(_: str, names: list[str]) -> set[str]:
    """Files that are not published: of a publisher at work, or of git."""
    return {name for name in names if name in (".git", lock.CLAIM) or ".tmp-" in name}


def _add_tombstones(folder: Path) -> None:
    """At the address of each revision that is gone a page that says why, and where to go."""
    past = history.read_history(folder, folder.name)
    title = site.read_title(folder, past)
    for name, text in site_pages.render_layers(folder.name, title, past, deep=True).items():
        if not (folder / name).is_dir():
            atomic_io.write(folder / name / site_pages.FRONT, text)
