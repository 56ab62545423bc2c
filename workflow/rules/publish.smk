# The rules that write the published site. Nothing there is an output: Snakemake would delete it before a job and after
# one that failed. A receipt says what was published; where it and the site disagree, the rules ask for another receipt
# (`again`).
rule publish:
    """Put a lesson's rendered revision into the site, unless a check failed or nothing changed."""
    input:
        rendered=rules.render.output.rendered,
        rehearsed=rules.render.output.rehearsed,
        revision=rules.render.output.revision,
        checks=rules.check.output.checks,
    output:
        receipt=report(
            f"{LESSON}/published{{again}}.json",
            caption="../report/drift.rst",
            category="Drift",
            labels={"lesson": "{slug}", "found by": "publish"},
        ),
    log:
        f"{LESSON}/publish{{again}}.log",
    conda:
        "../envs/lessonpress.yaml"
    message:
        "publishing {wildcards.slug}"
    shell:
        f"lessonpress publish {{wildcards.slug}} --key {{wildcards.key}} --receipt {{output.receipt:q}}{OPTIONS}"


rule site:
    """Renew the pages around the lessons: the catalogue, every lesson's list of revisions, the schemas."""
    input:
        receipts=receipts,
    output:
        receipt=f"{WORK}/site/{{state}}.json",
    log:
        f"{WORK}/site/{{state}}.log",
    conda:
        "../envs/lessonpress.yaml"
    message:
        "renewing the pages around the lessons"
    shell:
        f"lessonpress site --receipt {{output.receipt:q}}{OPTIONS}"


rule mistakes:
    """Report the mistakes of all lessons together, and fail where there are any."""
    input:
        receipts=receipts,
        site=pages,
    output:
        good=f"{WORK}/good/{{state}}.json",
    log:
        f"{WORK}/good/{{state}}.log",
    retries: 0
    conda:
        "../envs/lessonpress.yaml"
    message:
        "looking for mistakes in the lessons"
    shell:
        f"lessonpress mistakes --receipt {{output.good:q}}{OPTIONS}"
