# What the rules share: folders, lessons, and which of these are due.
from pathlib import Path

from lessonpress import dispatch, stages

SETTINGS = stages.settings(config)
LESSONS, RESULTS, WORK = SETTINGS.lessons, SETTINGS.results, SETTINGS.work
SLUGS, ODD = stages.lessons(Path(LESSONS)), stages.odd(Path(LESSONS))

stages.put_python_first()
stages.pass_settings(SETTINGS)
stages.pass_note(config)
NOTES = dispatch.notes(Path(WORK), dry=workflow.output_settings.dryrun)
BATCHES = []
if workflow.is_main_process:  # on another node a batch is what its plan says
    BATCHES = dispatch.planned(SLUGS, SETTINGS, NOTES)


wildcard_constraints:
    slug="|".join(SLUGS) or "none",
    batch="[a-z0-9-]+",


localrules:
    all,
    publish,


def odd(wildcards):
    """The folders that no slug can name; a function, because their names may hold what would be a wildcard."""
    return ODD


def sources(wildcards):
    """Every file of a lesson's folder."""
    return stages.sources(Path(LESSONS) / wildcards.slug)
