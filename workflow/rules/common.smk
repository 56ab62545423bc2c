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
    # Snakemake looks for a free core without a pause while a job waits for one (with a throttle of 0 s, as in our
    # profile): on one machine one job takes all cores and all lessons.
    SIZE = SETTINGS.batch if workflow.resource_settings.nodes else None
    BATCHES = dispatch.planned(SLUGS, SETTINGS, NOTES, SIZE)


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
