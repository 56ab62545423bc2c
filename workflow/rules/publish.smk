rule publish:
    input:
        rendered=rules.render.output.rendered,
        revision=rules.render.output.revision,
        checks=rules.check.output.checks,
        code=f"{WORK}/code/publish.sha256",
    output:
        receipt=report(
            f"{WORK}/{{slug}}/published.json",
            caption="../report/drift.rst",
            category="Drift",
            labels={"lesson": "{slug}", "found by": "publish"},
        ),
    log:
        f"{WORK}/logs/{{slug}}/publish.log",
    benchmark:
        f"{WORK}/benchmarks/{{slug}}/publish.tsv"
    conda:
        "../envs/lessonpress.yaml"
    message:
        "publishing {wildcards.slug}"
    shell:
        "python -m lessonpress publish {wildcards.slug:q} 2>&1 | tee {log:q}"
