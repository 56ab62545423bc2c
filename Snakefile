"""lessonpress: from lessons/<slug>/ to results/models/<slug>/<revision>/, one rule for each step of each lesson."""


configfile: "config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/lesson.smk"
include: "workflow/rules/publish.smk"
include: "workflow/rules/names.smk"
include: "workflow/rules/prepare.smk"
include: "workflow/rules/verify.smk"


rule all:
    default_target: True
    input:
        site=pages,
        good=good,


onstart:
    snakemake_session.collect_again()
    snakemake_session.remove_throttle(workflow)


onerror:
    snakemake_session.renew_pages(STATE)
