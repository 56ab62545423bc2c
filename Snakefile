"""lessonpress: from lessons/<slug>/ to results/models/<slug>/<revision>/, an arrow a rule."""


configfile: "config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/hash.smk"
include: "workflow/rules/execute.smk"
include: "workflow/rules/record.smk"
include: "workflow/rules/check.smk"
include: "workflow/rules/render.smk"
include: "workflow/rules/publish.smk"
include: "workflow/rules/site.smk"
include: "workflow/rules/prepare.smk"
include: "workflow/rules/verify.smk"
include: "workflow/rules/refuse.smk"


rule all:
    default_target: True
    input:
        f"{WORK}/site.json",
        [f"{WORK}/refused"] if ODD else [],
