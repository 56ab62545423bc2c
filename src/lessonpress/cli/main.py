"""The command line: one command for each step of the pipeline, and others for people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from lessonpress import __version__
from lessonpress.cli import authoring, commands
from lessonpress.cli.authoring import CONFIG, ConfigFile
from lessonpress.core import suggestions
from lessonpress.core.errors import LessonErrors
from lessonpress.core.settings import Config
from lessonpress.lesson import lesson_files

app = typer.Typer(name="lessonpress", no_args_is_help=True, add_completion=False, rich_markup_mode=None,
                  pretty_exceptions_enable=False, help=__doc__,
                  epilog="Every command takes --set KEY=VALUE: a setting in the place of config.yaml's.")  # fmt: skip
Slugs = Annotated[list[str], typer.Argument(help="One lesson or many, by slug.", metavar="SLUG…")]
Key = Annotated[str | None, typer.Option(help="Fail unless this names the lesson's present state.", metavar="KEY")]
Slug = Annotated[str, typer.Argument(help="A lesson, by slug.", metavar="SLUG")]
for command in (authoring.init, authoring.new, authoring.lint, authoring.preview, authoring.draw, authoring.serve):
    app.command()(command)


def make_arguments(slugs: Sequence[str], config: Path, key: str | None = None) -> commands.Arguments:
    """The arguments of a command that the rules use too."""
    return commands.Arguments(tuple(slugs), key, config=config)


@app.command("hash")
def hash_(slugs: Slugs, config: ConfigFile = CONFIG, key: Key = None) -> None:
    """Read lessons, refuse what is wrong, write down what they are."""
    commands.run_step("hash", make_arguments(slugs, config, key))


@app.command()
def execute(slugs: Slugs, config: ConfigFile = CONFIG, key: Key = None) -> None:
    """Run lessons in a worker process and keep what they recorded."""
    commands.run_step("execute", make_arguments(slugs, config, key))


@app.command()
def record(slugs: Slugs, config: ConfigFile = CONFIG, key: Key = None) -> None:
    """Cut the recorded cases out of the captures."""
    commands.run_step("record", make_arguments(slugs, config, key))


@app.command()
def check(slugs: Slugs, config: ConfigFile = CONFIG, key: Key = None) -> None:
    """Run the lessons' numerical checks and write down the verdicts."""
    commands.run_step("check", make_arguments(slugs, config, key))


@app.command()
def render(slugs: Slugs, config: ConfigFile = CONFIG, key: Key = None) -> None:
    """Make every file of the lessons' revisions, in the work folder."""
    commands.run_step("render", make_arguments(slugs, config, key))


@app.command()
def rehearse(slugs: Slugs, config: ConfigFile = CONFIG, key: Key = None) -> None:
    """Run the bundles as their readers would, in a second process; `render` does this too."""
    commands.run_step("rehearse", make_arguments(slugs, config, key))


@app.command()
def publish(
    slugs: Slugs, config: ConfigFile = CONFIG, key: Key = None,
    note: Annotated[str | None, typer.Option(help="Why, in the curator's words; stored with the revision.")] = None,
) -> None:  # fmt: skip
    """Put rendered revisions into the site, unless a check failed or nothing changed."""
    commands.publish(make_arguments(slugs, config, key), note)


@app.command()
def site(config: ConfigFile = CONFIG) -> None:
    """Write the pages around the lessons: catalogue, histories, schema."""
    commands.site(make_arguments((), config))


@app.command()
def mistakes(config: ConfigFile = CONFIG) -> None:
    """Report the mistakes in the lessons when their steps were last done; 1 when there are any."""
    commands.mistakes(make_arguments((), config))


@app.command()
def prepare(
    slugs: Annotated[list[str] | None, typer.Argument(metavar="SLUG…")] = None,
    repeat: Annotated[bool, typer.Option("--repeat", help="Train again, compare with what is stored, write nothing; "
                                                          "without a name, every lesson that has a training.")] = False,
    config: ConfigFile = CONFIG,
) -> None:  # fmt: skip
    """Run lessons' training and store the weights as source, beside the recipe."""
    from lessonpress.authoring import train as trainer

    settings = commands.read_settings(config)
    if not slugs and not repeat:
        raise typer.BadParameter("name the lessons whose weights are to be made")
    act = trainer.repeat_training if repeat else trainer.train_lesson
    commands.for_each_lesson(slugs or trainer.list_trained_lessons(settings), lambda slug: act(settings, slug))


@app.command()
def verify(
    slugs: Annotated[list[str] | None, typer.Argument(metavar="[SLUG…]")] = None, config: ConfigFile = CONFIG,
    record: Annotated[bool, typer.Option("--record", help="Write the reports, and exit 0 on drift as well.")] = False,
    recorded: Annotated[bool, typer.Option("--recorded", help="Only judge what the last reports say.")] = False,
) -> None:  # fmt: skip
    """Regenerate lessons (all of them without a name) into scratch and compare with what is published; 1 on drift."""
    from lessonpress.publishing import committed
    from lessonpress.publishing import verify as verifier

    settings = _known(commands.read_settings(config), *slugs or ())
    good = verifier.judge_last_report(settings) if recorded else verifier.verify(settings, slugs or ())
    if unknown := committed.explain_shallow(Path(settings.results)):
        typer.echo(unknown, err=True)
    if not good and not record:
        raise typer.Exit(1)


@app.command()
def diff(
    slug: Annotated[str | None, typer.Argument(help="A lesson, by slug.", metavar="SLUG")] = None,
    a: Annotated[str | None, typer.Argument()] = None, b: Annotated[str | None, typer.Argument()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")] = False,
    out: Annotated[Path | None, typer.Option(help="Where the HTML page is written.", metavar="FILE")] = None,
    against: Annotated[str | None, typer.Option(help="Compare all lessons with a branch or commit, as Markdown.",
                                                metavar="REF")] = None,
    config: ConfigFile = CONFIG,
) -> None:  # fmt: skip
    """Say what changed between two revisions (the last two without names), and write it as one HTML page."""
    from lessonpress.core import canonical_json
    from lessonpress.publishing import diff as differ

    if against:
        from lessonpress.publishing import review as reviewer

        if slug:
            raise typer.BadParameter("--against compares all lessons; name none.")
        done = reviewer.review(commands.read_settings(config), against, out=out)
        typer.echo(reviewer.format_markdown(done), nl=False)
        typer.echo(done.page, err=True)
        return
    if not slug:
        raise typer.BadParameter("name a lesson, or say --against REF to compare all of them.")
    settings = _known(commands.read_settings(config), slug)
    difference = differ.diff(settings, slug, a, b, out=out)
    if json:
        typer.echo(canonical_json.pretty(difference.document()), nl=False)
    else:
        typer.echo(f"{differ.format_difference(difference)}\n{out or differ.page_path(settings, slug)}")


@app.command()
def history(slug: Slug, config: ConfigFile = CONFIG) -> None:
    """List a lesson's revisions with dates, reasons and notes, the newest first."""
    from lessonpress.publishing import prune as pruner

    typer.echo(pruner.list_history(_known(commands.read_settings(config), slug), slug))


@app.command()
def pin(
    slug: Slug, revision: Annotated[str | None, typer.Argument(metavar="[REVISION]")] = None,
    config: ConfigFile = CONFIG,
) -> None:  # fmt: skip
    """Pin a revision: it stays current when others are published. Without a revision: remove the pin."""
    from lessonpress.publishing import prune as pruner

    _settled(config, lambda settings: pruner.pin(_known(settings, slug), slug, revision))


@app.command()
def retire(
    slug: Slug, to: Annotated[str | None, typer.Option(help="The lesson that continues it.", metavar="SLUG")] = None,
    note: Annotated[str | None, typer.Option(help="Why, in the curator's words.")] = None, config: ConfigFile = CONFIG,
) -> None:  # fmt: skip
    """End or rename a lesson whose source is gone: it leaves the catalogue, its pages stay and say so."""
    from lessonpress.publishing import prune as pruner

    named = [slug, to] if to else [slug]
    _settled(config, lambda settings: pruner.retire(_known(settings, *named), slug, to=to, note=note))


@app.command()
def prune(
    slugs: Annotated[list[str] | None, typer.Argument(metavar="[SLUG…]")] = None, config: ConfigFile = CONFIG,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only say what would be dropped.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; without a terminal nothing is asked.")] = False,
    policy: Annotated[bool, typer.Option("--policy", help="Drop what `keep` in config.yaml does not keep.")] = False,
) -> None:  # fmt: skip
    """Drop revision folders that are in no commit; the current and the pinned ones stay."""
    from lessonpress.publishing import prune as pruner

    settings = _known(commands.read_settings(config), *slugs or ())
    if policy:
        _drop_by_policy(settings, slugs or (), config, dry_run=dry_run, asked=not yes and sys.stdin.isatty())
        return
    doomed = pruner.find_prunable(settings, slugs or ())
    if not doomed:
        typer.echo("Nothing to drop: every earlier revision is in a commit.")
        return
    asked = not yes and sys.stdin.isatty()
    if dry_run or asked:
        typer.echo("\n".join(f"{name}: would drop {words}" for (name, _), words in doomed.items()))
    if dry_run or (asked and not typer.confirm(f"Drop {len(doomed)} of them for good?")):
        return
    _settled(config, lambda settings: "\n".join(pruner.prune(settings, slugs or (), agreed=doomed)))


def _drop_by_policy(settings: Config, slugs: Sequence[str], config: Path, *, dry_run: bool, asked: bool) -> None:
    """Say what the policy does not keep, then drop that and nothing else."""
    from lessonpress.publishing import keep as keeper

    chosen = keeper.find_droppable(settings, slugs)
    for slug, names in chosen.items():
        typer.echo(f"{slug}: keep: {settings.keep} does not keep {', '.join(names)}")
    count = sum(map(len, chosen.values()))
    if not chosen:
        typer.echo(f"Nothing to drop: keep: {settings.keep} keeps every revision that is here.")
    elif not dry_run and (not asked or typer.confirm(f"Drop {count} of them for good?")):
        _settled(config, lambda now: keeper.drop(now, chosen))


@app.command()
def sign(
    slugs: Annotated[list[str] | None, typer.Argument(metavar="[SLUG…]")] = None,
    key: Annotated[str | None, typer.Option(help="The file of an SSH key; else signing.key.", metavar="FILE")] = None,
    sigstore: Annotated[bool, typer.Option("--sigstore", help="With the identity of this workflow, no key.")] = False,
    config: ConfigFile = CONFIG,
) -> None:
    """Sign published revisions that have no signature yet, each beside its folder (ssh-keygen -Y, or Sigstore)."""
    from lessonpress.publishing import attestations, signatures

    settings = _known(commands.read_settings(config), *slugs or ())
    if sigstore:
        typer.echo(attestations.attest_published(signatures.list_revisions(settings, slugs or ())))
        return
    typer.echo(signatures.sign_published(settings, slugs or (), key))


@app.command()
def withdraw(
    slug: Annotated[str, typer.Argument(help="The lesson's slug.")],
    revision: Annotated[str, typer.Argument(help="The revision, or the beginning of its name.")],
    note: Annotated[str, typer.Option(help="Why; it stays in the history.")],
    config: ConfigFile = CONFIG,
) -> None:
    """Take a published revision back: its folder goes, its name and the reason stay in the history."""
    from lessonpress.publishing import prune as pruner

    _settled(config, lambda settings: pruner.withdraw(_known(settings, slug), slug, revision, note))


@app.command()
def merge(
    driver: Annotated[tuple[Path, Path, Path, str] | None, typer.Option(
        help="For git alone: merge one file.", metavar="BASE OURS THEIRS NAME")] = None,
    setup: Annotated[bool, typer.Option("--setup", help="Only tell git how published files merge.")] = False,
    publishing: Annotated[bool, typer.Option("--publish/--no-publish", help="Publish what sources give now.")] = True,
    config: ConfigFile = CONFIG,
) -> None:  # fmt: skip
    """Lead the site to a good state after a git merge, rebase, cherry-pick, revert or stash; nothing is lost."""
    from lessonpress.publishing import git_setup

    if driver:
        if not git_setup.run_driver(*driver):
            raise typer.Exit(1)
        return
    settings = commands.read_settings(config)
    if setup:
        typer.echo("\n".join(git_setup.set_up(settings)) or "Git knows already how published files merge.")
        return
    from lessonpress.publishing import merge as merger

    done = merger.merge(settings, publishing=publishing)
    typer.echo("\n".join(done.lines) or "Everything that was published is here, and in order.")
    if git_setup.lacks_attributes(settings) or git_setup.lacks_driver():
        typer.echo(f"Git does not know yet how published files merge. Type once in this clone: {git_setup.SETUP}",
                   err=True)  # fmt: skip
    if done.mistakes:
        raise LessonErrors(list(done.mistakes))


@app.command()
def upgrade(
    slugs: Annotated[list[str] | None, typer.Argument(metavar="[SLUG…]")] = None,
    note: Annotated[str | None, typer.Option(help="The reason; else the versions that changed.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only say what would change.")] = False,
    config: ConfigFile = CONFIG,
) -> None:  # fmt: skip
    """Publish every lesson again with the torch, Python and lessonpress of now, and say what that changes."""
    from lessonpress.publishing import site as pages
    from lessonpress.publishing import upgrade as upgrader

    settings = _known(commands.read_settings(config), *slugs or ())
    lessons, mistakes = upgrader.upgrade(settings, slugs or (), note=note, dry_run=dry_run)
    typer.echo(upgrader.format_table(lessons, dry_run=dry_run))
    if not dry_run:
        typer.echo(pages.write_site(settings))
        for advice in upgrader.check_requirements(Path()):
            typer.echo(advice)
    if mistakes:
        raise LessonErrors(mistakes)


@app.command()
def compact(
    slugs: Annotated[list[str] | None, typer.Argument(metavar="[SLUG…]")] = None, config: ConfigFile = CONFIG
) -> None:
    """Keep superseded revisions as `earlier` in config.yaml says: as archives, or as folders again."""
    from lessonpress.publishing import compact as packer

    settings = _known(commands.read_settings(config), *slugs or ())
    typer.echo(packer.pack_published(settings, slugs or ()))


@app.command()
def deploy(
    out: Annotated[Path, typer.Argument(help="A new folder, or one that this command has made.", metavar="DIR")],
    config: ConfigFile = CONFIG,
) -> None:
    """Build the site as a static host serves it, and follow every link in it; 1 where one leads nowhere."""
    from lessonpress.publishing import deploy as deployer

    typer.echo(deployer.deploy(commands.read_settings(config), out))


@app.command()
def doctor(
    accept: Annotated[str | None, typer.Option(help="Seal a history merged by hand.", metavar="SLUG")] = None,
    rebuild: Annotated[str | None, typer.Option(help="Make a lost history again.", metavar="SLUG")] = None,
    config: ConfigFile = CONFIG,
) -> None:  # fmt: skip
    """Say what in the published site is inconsistent, and how to mend it; 1 when anything is."""
    from lessonpress.publishing import committed, lost_history
    from lessonpress.publishing import doctor as physician
    from lessonpress.publishing import prune as pruner

    if rebuild:
        _settled(config, lambda settings: lost_history.rebuild_history(_known(settings, rebuild), rebuild))
    if accept:
        _settled(config, lambda settings: pruner.accept(_known(settings, accept), accept))
    settings = commands.read_settings(config)
    faults = physician.find_faults(settings)
    typer.echo(physician.format_faults(faults))
    if unknown := committed.explain_shallow(Path(settings.results)):
        typer.echo(unknown, err=True)
    if faults:
        raise typer.Exit(1)


def _known(settings: Config, *slugs: str) -> Config:
    """The settings, where each slug is one of a lesson's source or of a published lesson; else wrong usage."""
    models = Path(settings.results) / "models"
    published = [path.name for path in models.iterdir() if path.is_dir()] if models.is_dir() else []
    known = sorted({*lesson_files.slugs(Path(settings.lessons)), *published})
    for slug in slugs:
        if slug not in known:
            near = suggestions.nearest(slug, known, count=3, cutoff=0.5)
            some = ", ".join(known[:5]) + (f" and {len(known) - 5} more" if len(known) > 5 else "")
            others = f"near it: {', '.join(near)}" if near else f"lessons: {some}" if known else "there is none yet"
            raise typer.BadParameter(f"no lesson is called {slug!r}; {others}.")
    return settings


def _settled(config: Path, act: Callable[[Config], str]) -> None:
    """Change a history, say what was done, and let the pages around the lessons follow."""
    from lessonpress.publishing import site as pages

    settings = commands.read_settings(config)
    typer.echo(act(settings))
    typer.echo(pages.write_site(settings))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lessonpress {__version__}")
        raise typer.Exit


@app.callback()
def _options(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False) -> None:
    """Turn small PyTorch models and pages of prose into published, verifiable lessons."""
