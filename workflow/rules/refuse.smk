# Folders that no slug can name. Never made, so that a run with such a folder fails, after all that can be done is done.
rule refuse:
    input:
        done=expand(f"{WORK}/batches/{{batch}}.done", batch=BATCHES),
    output:
        f"{WORK}/refused",
    log:
        f"{WORK}/logs/refuse.log",
    conda:
        "../envs/lessonpress.yaml"
    params:
        names=odd,
    message:
        "reading folders that cannot be lessons"
    shell:
        "python -m lessonpress lint -- {params.names:q} 2>&1 | tee {log:q}"
