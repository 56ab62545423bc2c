"""The command line: one verb for each arrow of the pipeline, and a few for people."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from lessonpress import __version__, arrows

app = typer.Typer(name="lessonpress", no_args_is_help=True, add_completion=False, rich_markup_mode=None,
                  pretty_exceptions_enable=False, help=__doc__)  # fmt: skip
Slugs = Annotated[list[str], typer.Argument(help="One lesson or many, by slug.", metavar="SLUG…")]
Slug = Annotated[str, typer.Argument(help="A lesson, by slug.", metavar="SLUG")]
ConfigFile = Annotated[Path, typer.Option("--config", help="The settings file.", metavar="FILE")]
CONFIG = Path("config.yaml")


@app.command("hash")
def hash_(slugs: Slugs, config: ConfigFile = CONFIG) -> None:
    """Read lessons, refuse what is wrong, write down what they are."""
    arrows.go("hash", slugs, config=arrows.settings(config))


@app.command()
def execute(slugs: Slugs, config: ConfigFile = CONFIG) -> None:
    """Run lessons in a worker process and keep what they recorded."""
    arrows.go("execute", slugs, config=arrows.settings(config))


@app.command()
def record(slugs: Slugs, config: ConfigFile = CONFIG) -> None:
    """Cut the recorded cases out of the captures."""
    arrows.go("record", slugs, config=arrows.settings(config))


@app.command()
def check(slugs: Slugs, config: ConfigFile = CONFIG) -> None:
    """Run the lessons' numerical checks and write down the verdicts."""
    arrows.go("check", slugs, config=arrows.settings(config))


@app.command()
def render(slugs: Slugs, config: ConfigFile = CONFIG) -> None:
    """Make every file of the lessons' revisions, in the work folder."""
    arrows.go("render", slugs, config=arrows.settings(config))


@app.command()
def produce(
    slugs: Slugs, config: ConfigFile = CONFIG,
    jobs: Annotated[int, typer.Option(min=1, help="Lessons at a time.")] = 1,
) -> None:  # fmt: skip
    """Take lessons from hash to render, doing only what their changes ask for."""
    arrows.produce(slugs, config=arrows.settings(config), jobs=jobs)


@app.command()
def publish(
    slugs: Slugs, config: ConfigFile = CONFIG,
    note: Annotated[str | None, typer.Option(help="Why, in the curator's words; stored with the revision.")] = None,
) -> None:  # fmt: skip
    """Put rendered revisions into the site, unless a check failed or nothing changed."""
    arrows.go("publish", slugs, config=arrows.settings(config), note=note)


@app.command()
def site(config: ConfigFile = CONFIG) -> None:
    """Write the pages around the lessons: catalogue, histories, schema."""
    typer.echo(arrows.room("site").site(arrows.settings(config)))


@app.command()
def lint(
    slugs: Annotated[list[str] | None, typer.Argument(metavar="[SLUG…]")] = None, config: ConfigFile = CONFIG
) -> None:
    """Read and validate lessons (all of them without a name); nothing is run."""
    settings = arrows.settings(config)
    found = slugs or sorted(path.parent.name for path in Path(settings.lessons).glob("*/lesson.yaml"))
    read, source = arrows.room("lesson").read, arrows.room("hashing").source
    arrows.each(found, lambda slug: f"{slug}: good" if source(read(settings.lesson(slug))) else None)


@app.command()
def preview(
    path: Annotated[Path, typer.Argument(help="A lesson's folder.")],
    out: Annotated[Path | None, typer.Option(help="Where the revision folder is put.", metavar="DIR")] = None,
    config: ConfigFile = CONFIG,
) -> None:
    """Take any lesson folder through everything but publishing."""
    folder = path.resolve()
    with tempfile.TemporaryDirectory(prefix="lessonpress-") as scratch:
        settings = arrows.settings(config).model_copy(update={"lessons": str(folder.parent), "work": scratch})
        for verb in ("hash", "execute", "record", "check", "render"):
            arrows.go(verb, [folder.name], config=settings)
        to = out or Path(f"preview-{folder.name}")
        _placed(settings.room(folder.name) / "revision", to)
        typer.echo(f"{to / 'index.html'}")
        gate = arrows.room("publish")
        gate.require_passed(settings, folder.name)
        for fault in gate.toothless(settings, folder.name):
            typer.echo(f"not yet publishable: {fault.message()}", err=True)


def _placed(made: Path, to: Path) -> None:
    """Put a finished folder into its place, whole or not at all; into one that exists, its files are copied."""
    if to.exists():
        shutil.copytree(made, to, dirs_exist_ok=True)
        return
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".lessonpress-", dir=to.parent) as beside:
        shutil.copytree(made, Path(beside) / to.name).rename(to)


@app.command()
def verify(
    slugs: Annotated[list[str] | None, typer.Argument(metavar="[SLUG…]")] = None, config: ConfigFile = CONFIG,
    jobs: Annotated[int, typer.Option(min=1, help="Lessons at a time.")] = 1,
) -> None:  # fmt: skip
    """Regenerate lessons (all of them without a name) into scratch and compare with what is published; 1 on drift."""
    if not arrows.room("verify").verify(arrows.settings(config), slugs or (), jobs=jobs):
        raise typer.Exit(1)


@app.command()
def diff(
    slug: Slug, a: Annotated[str | None, typer.Argument()] = None, b: Annotated[str | None, typer.Argument()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")] = False,
    out: Annotated[Path | None, typer.Option(help="Where the HTML page is written.", metavar="FILE")] = None,
    config: ConfigFile = CONFIG,
) -> None:  # fmt: skip
    """Say what changed between two revisions (the last two without names), and write it as one HTML page."""
    settings, room = arrows.settings(config), arrows.room("diff")
    found = room.diff(settings, slug, a, b, out=out)
    if json:
        typer.echo(arrows.room("canon").pretty(found.document()), nl=False)
    else:
        typer.echo(f"{room.words(found)}\n{out or room.place(settings, slug)}")


@app.command()
def history(slug: Slug, config: ConfigFile = CONFIG) -> None:
    """List a lesson's revisions with dates, reasons and notes, the newest first."""
    typer.echo(arrows.room("prune").listed(arrows.settings(config), slug))


@app.command()
def pin(
    slug: Slug, revision: Annotated[str | None, typer.Argument(metavar="[REVISION]")] = None,
    config: ConfigFile = CONFIG,
) -> None:  # fmt: skip
    """Hold the current revision at one; later publications add without moving it. Without a revision: let go."""
    _settled(config, lambda settings: arrows.room("prune").pin(settings, slug, revision))


@app.command()
def retire(
    slug: Slug, to: Annotated[str | None, typer.Option(help="The lesson that goes on.", metavar="SLUG")] = None,
    note: Annotated[str | None, typer.Option(help="Why, in the curator's words.")] = None, config: ConfigFile = CONFIG,
) -> None:  # fmt: skip
    """End or rename a lesson whose source is gone: it leaves the catalogue, its pages stay and say so."""
    _settled(config, lambda settings: arrows.room("prune").retire(settings, slug, to=to, note=note))


@app.command()
def prune(
    slugs: Annotated[list[str] | None, typer.Argument(metavar="[SLUG…]")] = None, config: ConfigFile = CONFIG
) -> None:
    """Drop revision folders that are in no commit; the current and the pinned ones stay."""
    nothing = "Nothing to drop: every earlier revision is in a commit."
    _settled(config, lambda settings: "\n".join(arrows.room("prune").prune(settings, slugs or ())) or nothing)


@app.command()
def doctor(
    accept: Annotated[str | None, typer.Option(help="Seal a history merged by hand.", metavar="SLUG")] = None,
    config: ConfigFile = CONFIG,
) -> None:  # fmt: skip
    """Say what in the published site is inconsistent, and how to mend it; 1 when anything is."""
    if accept:
        _settled(config, lambda settings: arrows.room("prune").accept(settings, accept))
    room = arrows.room("doctor")
    faults = room.doctor(arrows.settings(config))
    typer.echo(room.words(faults))
    if faults:
        raise typer.Exit(1)


def _settled(config: Path, act: Callable[[Any], str]) -> None:
    """Change a history, say what was done, and let the pages around the lessons follow."""
    settings = arrows.settings(config)
    typer.echo(act(settings))
    typer.echo(arrows.room("site").site(settings))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lessonpress {__version__}")
        raise typer.Exit


@app.callback()
def _options(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False) -> None:
    """Turn small PyTorch models and pages of prose into published, verifiable lessons."""
