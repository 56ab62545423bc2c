rule site:
    input:
        receipts=expand(rules.publish.output.receipt, slug=SLUGS),
        code=f"{WORK}/code/site.sha256",
    output:
        receipt=f"{WORK}/site.json",
    log:
        f"{WORK}/logs/site.log",
    benchmark:
        f"{WORK}/benchmarks/site.tsv"
    conda:
        "../envs/lessonpress.yaml"
    message:
        "writing the pages around the lessons"
    shell:
        "python -m lessonpress site 2>&1 | tee {log:q}"
