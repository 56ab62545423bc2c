# No output and no benchmark: it is done again whenever it is asked for, because it asks whether the world has changed.
rule verify:
    input:
        lessons=[
            file for slug in SLUGS for file in stages.sources(Path(LESSONS) / slug)
        ],
        code=f"{WORK}/code/render.sha256",
    log:
        f"{WORK}/logs/verify.log",
    conda:
        "../envs/lessonpress.yaml"
    threads: 64  # as many as --cores gives
    message:
        "regenerating every lesson and comparing with what is published"
    shell:
        "python -m lessonpress verify --jobs {threads} 2>&1 | tee {log:q}"
