rule record:
    input:
        capture=rules.execute.output.capture,
        code=f"{WORK}/code/record.sha256",
    output:
        cases=f"{WORK}/{{slug}}/cases.json",
        table=f"{WORK}/{{slug}}/cases.csv",
    log:
        f"{WORK}/logs/{{slug}}/record.log",
    benchmark:
        f"{WORK}/benchmarks/{{slug}}/record.tsv"
    conda:
        "../envs/lessonpress.yaml"
    message:
        "recording the cases of {wildcards.slug}"
    shell:
        "python -m lessonpress record {wildcards.slug:q} 2>&1 | tee {log:q}"
