"""lessonpress: from lessons/<slug>/ to results/models/<slug>/<revision>/; produce what is due, then publish it."""


configfile: "config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/produce.smk"
include: "workflow/rules/publish.smk"
include: "workflow/rules/prepare.smk"
include: "workflow/rules/verify.smk"
include: "workflow/rules/refuse.smk"


rule all:
    default_target: True
    input:
        f"{WORK}/site.json",
        [f"{WORK}/refused"] if ODD else [],
