# What the rules share: folders, lessons, and the two notes that are made at parse time.
import os
import sys
from pathlib import Path

from lessonpress import stages

LESSONS = config.get("lessons", "lessons")
RESULTS = config.get("results", "results")
WORK = config.get("work", "work")
SLUGS = stages.lessons(Path(LESSONS))

# The rules call `python`: let it be the one that runs Snakemake, whatever the folder is called.
os.environ["PATH"] = os.pathsep.join(
    [str(Path(sys.executable).parent), os.environ["PATH"]]
)
stages.note_code(Path(WORK))
stages.drop_stale_receipts(Path(WORK), Path(RESULTS))


wildcard_constraints:
    slug="|".join(SLUGS) or "none",


def sources(wildcards):
    """Every file of a lesson's folder."""
    return stages.sources(Path(LESSONS) / wildcards.slug)
