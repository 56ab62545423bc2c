"""The command line: one verb for each arrow of the pipeline, and a few for people."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from lessonpress import __version__, arrows

app = typer.Typer(name="lessonpress", no_args_is_help=True, add_completion=False, rich_markup_mode=None,
                  pretty_exceptions_enable=False, help=__doc__)  # fmt: skip
Slugs = Annotated[list[str], typer.Argument(help="One lesson or many, by slug.", metavar="SLUG…")]
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
        shutil.copytree(settings.room(folder.name) / "revision", to, dirs_exist_ok=True)
        typer.echo(f"{to / 'index.html'}")
        arrows.room("publish").require_passed(settings, folder.name)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lessonpress {__version__}")
        raise typer.Exit


@app.callback()
def _options(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False) -> None:
    """Turn small PyTorch models and pages of prose into published, verifiable lessons."""
