"""The commands for authors: start a repository or a lesson, lint it, preview it, show the site."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lessonpress.cli import commands

ConfigFile = Annotated[Path, typer.Option("--config", help="The settings file.", metavar="FILE")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port on this machine; 0 takes a free one.")]
CONFIG, HERE = Path("config.yaml"), Path()


def init(
    folder: Annotated[Path, typer.Argument(help="Where it lies; made where it is missing.", metavar="[DIR]")] = HERE,
    keep: Annotated[bool, typer.Option("--keep", help="Keep what is there already and add the rest.")] = False,
) -> None:
    """Start a repository of your own: settings, rules by reference, one lesson that publishes, CI."""
    from lessonpress.authoring import repository

    say("\n".join(repository.create_repository(folder, keep=keep)))


def new(
    slug: Annotated[str, typer.Argument(help="The lesson's name: a-z, 0-9, hyphens.", metavar="SLUG")],
    config: ConfigFile = CONFIG,
) -> None:
    """Start a lesson: a small one that publishes as it stands."""
    from lessonpress.authoring import new_lesson

    folder = new_lesson.create_lesson(commands.read_settings(config), slug)
    typer.echo(f"{folder}: lesson.yaml, model.py and checks.py are written. Look at it while you edit:")
    typer.echo(f"  lessonpress preview {folder} --watch")


def lint(
    slugs: Annotated[list[str] | None, typer.Argument(metavar="[SLUG…]")] = None, config: ConfigFile = CONFIG
) -> None:
    """Read lessons as closely as one can without running them (all of them without a name)."""
    from lessonpress.authoring import lint

    settings = commands.read_settings(config)
    commands.for_each_lesson(slugs or lint.list_slugs(settings), lambda slug: lint.lint_lesson(settings, slug))


def preview(
    path: Annotated[Path, typer.Argument(help="A lesson's folder, or its slug.")],
    out: Annotated[Path | None, typer.Option(help="Where the revision folder is put.", metavar="DIR")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Serve the page and make it again on every save.")] = False,
    port: Port = 8001, config: ConfigFile = CONFIG,
) -> None:  # fmt: skip
    """Do everything but publishing with any lesson folder; with --watch, again on every save."""
    from lessonpress.authoring import live_preview
    from lessonpress.authoring import preview as previewer

    settings = commands.read_settings(config)
    if watch:
        folder = previewer.require_folder(settings, path, out)
        live_preview.run_preview(folder, out, port, lambda: commands.read_settings(config), say)
        return
    made = previewer.make_preview(settings, path, out)
    typer.echo("\n".join(filter(None, [made.words, str(made.page)])))
    for fault in made.lacking:
        typer.echo(f"not yet publishable: {fault.message()}", err=True)
    if made.failed:
        raise made.failed


def draw(
    target: Annotated[str, typer.Argument(help="A Python file, a colon, a class.", metavar="FILE.py:CLASS")],
    inputs: Annotated[list[str] | None, typer.Option("--input", metavar="NAME=SHAPE",
        help="An input of forward, in order: x=1x5, ids=1x5:int64; flag:=true is no tensor. May be repeated.")] = None,
    args: Annotated[list[str] | None, typer.Option("--arg", metavar="NAME=VALUE",
        help="A constructor argument, its value as in YAML: width=32. May be repeated.")] = None,
    dtype: Annotated[str, typer.Option(help="What parameters and float inputs are cast to.")] = "float32",
    seed: Annotated[int, typer.Option(min=0, help="The seed of weights and inputs.")] = 0,
    mode: Annotated[str, typer.Option(help="eval or train.")] = "eval",
    out: Annotated[Path | None, typer.Option(help="The folder for picture and page; else this one.",
                                             metavar="DIR")] = None,
    config: ConfigFile = CONFIG,
) -> None:  # fmt: skip
    """Draw the graph of any model, without a recipe: one call, an SVG and a page with every node's shapes."""
    from lessonpress.authoring import draw as drawer

    to = drawer.locate_output(out)
    options = drawer.Options(tuple(inputs or ()), tuple(args or ()), dtype, seed, mode)
    drawn = drawer.draw_model(commands.read_settings(config), target, options)
    say("\n".join([drawn.table(), *map(str, drawer.write_drawing(drawn, to))]))


def serve(port: Port = 8000, config: ConfigFile = CONFIG) -> None:
    """Show the published site in a browser of this machine, until Ctrl-C."""
    from lessonpress.web import dev_server

    settings = commands.read_settings(config)
    server = dev_server.open_site(Path(settings.results), port)
    dev_server.serve_forever(server, lambda: say(f"{server.address()}  shows {settings.results}; Ctrl-C ends it"))


def say(words: str) -> None:
    """Print words at once, also into a pipe."""
    print(words, flush=True)
