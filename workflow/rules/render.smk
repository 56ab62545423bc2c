rule render:
    input:
        source=rules.hash.output.source,
        capture=rules.execute.output.capture,
        cases=rules.record.output.cases,
        table=rules.record.output.table,
        checks=rules.check.output.checks,
        code=f"{WORK}/code/render.sha256",
    output:
        revision=report(
            directory(f"{WORK}/{{slug}}/revision"),
            patterns=["{picture}.svg"],
            caption="../report/preview.rst",
            category="Previews",
            labels={"lesson": "{slug}", "picture": "{picture}"},
        ),
        rendered=f"{WORK}/{{slug}}/rendered.json",
    log:
        f"{WORK}/logs/{{slug}}/render.log",
    benchmark:
        f"{WORK}/benchmarks/{{slug}}/render.tsv"
    conda:
        "../envs/lessonpress.yaml"
    message:
        "rendering {wildcards.slug}"
    shell:
        "python -m lessonpress render {wildcards.slug:q} 2>&1 | tee {log:q}"
