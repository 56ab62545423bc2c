rule execute:
    input:
        source=rules.hash.output.source,
        code=f"{WORK}/code/execute.sha256",
    output:
        capture=f"{WORK}/{{slug}}/capture.json",
        mutants=f"{WORK}/{{slug}}/mutants.json",
    log:
        f"{WORK}/logs/{{slug}}/execute.log",
    benchmark:
        f"{WORK}/benchmarks/{{slug}}/execute.tsv"
    conda:
        "../envs/lessonpress.yaml"
    message:
        "running {wildcards.slug}"
    shell:
        "python -m lessonpress execute {wildcards.slug:q} 2>&1 | tee {log:q}"
