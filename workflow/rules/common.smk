# What the rules share: the settings, and the state of all lessons. `OPTIONS` passes on to the commands what config.yaml
# in the working folder does not say, for example a module's folders; it is empty where that file says everything.
from lessonpress.cli import snakemake_session

STATE = snakemake_session.read_state(workflow, config)
LESSONS, WORK, OPTIONS = STATE.declared.lessons, STATE.declared.work, STATE.options
LESSON = f"{WORK}/{{slug}}/{{key}}"
RENAMED = workflow.modifier.local_rulename_modifier


wildcard_constraints:
    slug=snakemake_session.SLUG,
    key="[0-9a-f]{16}",
    again="|-[0-9a-f]+",
    run="[0-9a-f]+",
    state="[0-9a-f]{16}(-[0-9a-f]+)?",
    file=r"(source|capture|mutants|cases|checks|rendered|rehearsed)\.json|cases\.csv",


localrules:
    all,
    publish,
    site,
    mistakes,
    name,
    report_verification,
    verify,


def receipts(wildcards):
    """The receipts of all lessons in their present state."""
    return STATE.receipts


def pages(wildcards):
    """The receipt of the pages around the lessons."""
    return STATE.site


def good(wildcards):
    """The file which says that no lesson has a mistake."""
    return STATE.good


def every_source(wildcards):
    """Every file of every lesson."""
    return [ancient(path) for slug in STATE.slugs for path in STATE.sources(slug)]


def sources(wildcards):
    """Every file of a lesson; their times do not count, because the key in the outputs' names is their digest."""
    snakemake_session.run_as_one_group(workflow)
    snakemake_session.pass_on_forced_steps(workflow, RENAMED)
    return [ancient(path) for path in STATE.sources(wildcards.slug)]


def named(wildcards):
    """The file of the lesson's present state; where the stable name holds another state's, the rule is forced."""
    snakemake_session.force_files(workflow, STATE.stale(wildcards.slug, wildcards.file))
    return f"{WORK}/{wildcards.slug}/{STATE.key(wildcards.slug)}/{wildcards.file}"


def verdicts(wildcards):
    """The verdicts of all lessons in this run, whatever an earlier run has reported."""
    snakemake_session.force_files(workflow, [f"{STATE.config.work}/verify/report.json"])
    return [f"{STATE.verdicts}/{slug}.json" for slug in STATE.slugs]
