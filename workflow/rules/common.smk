# What the rules share: folders, lessons, and which of these are due.
from pathlib import Path

from lessonpress import stages

SETTINGS = stages.settings(config)
LESSONS, RESULTS, WORK = SETTINGS.lessons, SETTINGS.results, SETTINGS.work
SLUGS, ODD = stages.lessons(Path(LESSONS)), stages.odd(Path(LESSONS))

stages.put_python_first()
stages.pass_settings(SETTINGS)
stages.pass_note(config)
BATCHES = []
if workflow.is_main_process:  # on another node a batch is what its plan says
    stages.note_code(Path(WORK))
    stages.ask_again(Path(WORK))
    stages.drop_stale_pages(Path(WORK), Path(RESULTS), SETTINGS.site.model_dump())
    # Snakemake looks for a free core without a pause while a job waits for one (with a throttle of 0 s, as in our
    # profile): on one machine one job takes all cores and all lessons.
    SIZE = SETTINGS.batch if workflow.resource_settings.nodes else None
    BATCHES = stages.batches(stages.due(SLUGS, SETTINGS), Path(WORK), SIZE)


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
