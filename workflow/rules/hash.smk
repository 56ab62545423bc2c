rule hash:
    input:
        lesson=sources,
        code=f"{WORK}/code/hash.sha256",
    output:
        source=f"{WORK}/{{slug}}/source.json",
    log:
        f"{WORK}/logs/{{slug}}/hash.log",
    benchmark:
        f"{WORK}/benchmarks/{{slug}}/hash.tsv"
    conda:
        "../envs/lessonpress.yaml"
    message:
        "reading {wildcards.slug}"
    shell:
        "python -m lessonpress hash {wildcards.slug:q} 2>&1 | tee {log:q}"
