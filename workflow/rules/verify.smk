# A job that fails loses its outputs, so this one writes down what it finds and succeeds; the next one is the gate.
# Its input `asked` is another one whenever Snakemake reads these rules: whether the world has changed is asked anew.
rule compare:
    input:
        lessons=[
            file for slug in SLUGS for file in stages.sources(Path(LESSONS) / slug)
        ],
        code=f"{NOTES}/code/render.sha256",
        asked=f"{NOTES}/code/asked",
    output:
        page=report(
            f"{WORK}/verify/report.html",
            caption="../report/verify.rst",
            category="Drift",
            labels={"lesson": "all lessons", "found by": "verify"},
        ),
        data=f"{WORK}/verify/report.json",
        junit=f"{WORK}/verify/junit.xml",
        summary=f"{WORK}/verify/summary.md",
    log:
        f"{WORK}/logs/compare.log",
    benchmark:
        f"{WORK}/benchmarks/compare.tsv"
    conda:
        "../envs/lessonpress.yaml"
    threads: 64  # as many as --cores gives
    message:
        "regenerating every lesson and comparing with what is published"
    shell:
        "python -m lessonpress verify --jobs {threads} --record 2>&1 | tee {log:q}"


rule verify:
    input:
        report=rules.compare.output.data,
    log:
        f"{WORK}/logs/verify.log",
    conda:
        "../envs/lessonpress.yaml"
    message:
        "judging what was found"
    shell:
        "python -m lessonpress verify --recorded 2>&1 | tee {log:q}"
