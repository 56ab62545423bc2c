# One job publishes whatever was produced and renews the pages around the lessons: only it writes the published site.
rule publish:
    input:
        done=expand(f"{WORK}/batches/{{batch}}.done", batch=BATCHES),
        code=f"{NOTES}/code/site.sha256",
    output:
        site=f"{WORK}/site.json",
        checks=report(
            directory(f"{WORK}/report/checks"),
            patterns=["{lesson}.json"],
            caption="../report/checks.rst",
            category="Checks",
            labels={"lesson": "{lesson}"},
        ),
        drift=report(
            directory(f"{WORK}/report/drift"),
            patterns=["{lesson}.json"],
            caption="../report/drift.rst",
            category="Drift",
            labels={"lesson": "{lesson}", "found by": "publish"},
        ),
        previews=report(
            directory(f"{WORK}/report/previews"),
            patterns=["{lesson}.svg"],
            caption="../report/preview.rst",
            category="Previews",
            labels={"lesson": "{lesson}"},
        ),
    log:
        f"{WORK}/logs/publish.log",
    benchmark:
        f"{WORK}/benchmarks/publish.tsv"
    conda:
        "../envs/lessonpress.yaml"
    message:
        "publishing what was produced"
    shell:
        "python -m lessonpress gather {log:q} {input.done:q}"
