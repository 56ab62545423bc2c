"""The command line: one verb for each arrow of the pipeline, and a few for people."""

from __future__ import annotations

import importlib
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from lessonpress import __version__
from lessonpress.errors import LessonError, LessonErrors

app = typer.Typer(name="lessonpress", no_args_is_help=True, add_completion=False, rich_markup_mode=None,
                  pretty_exceptions_enable=False, help=__doc__)  # fmt: skip
Slugs = Annotated[list[str], typer.Argument(help="One lesson or many, by slug.", metavar="SLUG…")]
ConfigFile = Annotated[Path, typer.Option("--config", help="The settings file.", metavar="FILE")]
CONFIG = Path("config.yaml")


def _room(name: str) -> Any:
    """A room, imported when its verb runs: no verb pays for another one's libraries."""
    return importlib.import_module(f"lessonpress.{name}")


def _config(path: Path) -> Any:
    return _room("config").read(path)


def _each(slugs: list[str], verb: Callable[[str], str | None]) -> None:
    """Do a verb for every lesson; all are tried, and all mistakes are told together."""
    failed: list[LessonError] = []
    for slug in slugs:
        try:
            words = verb(slug)
            if words:
                typer.echo(words)
        except LessonError as error:
            failed += error.errors if isinstance(error, LessonErrors) else [error]
    if failed:
        raise LessonErrors(failed)


@app.command("hash")
def hash_(slugs: Slugs, config: ConfigFile = CONFIG) -> None:
    """Read lessons, refuse what is wrong, write down what they are."""
    settings = _config(config)
    _each(slugs, lambda slug: _room("hashing").hash_lesson(settings, slug))


@app.command()
def execute(slugs: Slugs, config: ConfigFile = CONFIG) -> None:
    """Run lessons in a worker process and keep what they recorded."""
    settings = _config(config)
    _each(slugs, lambda slug: _room("execute").execute(settings, slug))


@app.command()
def record(slugs: Slugs, config: ConfigFile = CONFIG) -> None:
    """Cut the recorded cases out of the captures."""
    settings = _config(config)
    _each(slugs, lambda slug: _room("record").record(settings, slug))


@app.command()
def check(slugs: Slugs, config: ConfigFile = CONFIG) -> None:
    """Run the lessons' numerical checks and write down the verdicts."""
    settings = _config(config)
    _each(slugs, lambda slug: _room("check").check(settings, slug))


@app.command()
def render(slugs: Slugs, config: ConfigFile = CONFIG) -> None:
    """Make every file of the lessons' revisions, in the work folder."""
    settings = _config(config)
    _each(slugs, lambda slug: _room("render").render(settings, slug))


@app.command()
def publish(
    slugs: Slugs, config: ConfigFile = CONFIG,
    note: Annotated[str | None, typer.Option(help="Why, in the curator's words; stored with the revision.")] = None,
) -> None:  # fmt: skip
    """Put rendered revisions into the site, unless a check failed or nothing changed."""
    settings = _config(config)
    _each(slugs, lambda slug: _room("publish").publish(settings, slug, note=note))


@app.command()
def site(config: ConfigFile = CONFIG) -> None:
    """Write the pages around the lessons: catalogue, histories, schema."""
    typer.echo(_room("site").site(_config(config)))


@app.command()
def lint(
    slugs: Annotated[list[str] | None, typer.Argument(metavar="[SLUG…]")] = None, config: ConfigFile = CONFIG
) -> None:
    """Read and validate lessons (all of them without a name); nothing is run."""
    settings = _config(config)
    found = slugs or sorted(path.parent.name for path in Path(settings.lessons).glob("*/lesson.yaml"))
    _each(found, lambda slug: f"{slug}: good" if _room("hashing").source(_room("lesson").read(settings.lesson(slug))) else None)


@app.command()
def preview(
    path: Annotated[Path, typer.Argument(help="A lesson's folder.")],
    out: Annotated[Path | None, typer.Option(help="Where the revision folder is put.", metavar="DIR")] = None,
    config: ConfigFile = CONFIG,
) -> None:
    """Take any lesson folder through everything but publishing."""
    folder = path.resolve()
    with tempfile.TemporaryDirectory(prefix="lessonpress-") as scratch:
        settings = _config(config).model_copy(update={"lessons": str(folder.parent), "work": scratch})
        for room, verb in (("hashing", "hash_lesson"), ("execute", "execute"), ("record", "record"), ("check", "check"),
                           ("render", "render")):  # fmt: skip
            getattr(_room(room), verb)(settings, folder.name)
        to = out or Path(f"preview-{folder.name}")
        shutil.copytree(settings.room(folder.name) / "revision", to, dirs_exist_ok=True)
        typer.echo(f"{to / 'index.html'}")
        _room("publish").require_passed(settings, folder.name)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lessonpress {__version__}")
        raise typer.Exit


@app.callback()
def _options(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False) -> None:
    """Turn small PyTorch models and pages of prose into published, verifiable lessons."""


def main() -> None:
    """Run the command line; a user's mistake is one message and exit code 1."""
    try:
        app()
    except LessonError as error:
        print(error.message(), file=sys.stderr)
        sys.exit(1)
