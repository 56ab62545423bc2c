rule check:
    input:
        capture=rules.execute.output.capture,
        mutants=rules.execute.output.mutants,
        code=f"{WORK}/code/check.sha256",
    output:
        checks=report(
            f"{WORK}/{{slug}}/checks.json",
            caption="../report/checks.rst",
            category="Checks",
            labels={"lesson": "{slug}"},
        ),
    log:
        f"{WORK}/logs/{{slug}}/check.log",
    benchmark:
        f"{WORK}/benchmarks/{{slug}}/check.tsv"
    conda:
        "../envs/lessonpress.yaml"
    message:
        "checking {wildcards.slug}"
    shell:
        "python -m lessonpress check {wildcards.slug:q} 2>&1 | tee {log:q}"
