# Training is no part of publishing: the weights that it made are source. This trains again and compares, writing nothing.
# No output and no benchmark: it is done again whenever it is asked for.
rule repeat_training:
    input:
        lessons=[
            file for slug in SLUGS for file in stages.sources(Path(LESSONS) / slug)
        ],
    log:
        f"{WORK}/logs/repeat_training.log",
    conda:
        "../envs/lessonpress.yaml"
    message:
        "repeating every lesson's training and comparing with the stored weights"
    shell:
        "python -m lessonpress prepare --repeat 2>&1 | tee {log:q}"
