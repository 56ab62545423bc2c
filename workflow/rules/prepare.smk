# Training is not part of publishing: the weights that it made are source.
# It has no output, so it is done again whenever it is a target.
rule repeat_training:
    """Repeat every lesson's training and compare with the stored weights; writes nothing."""
    input:
        every_source,
    log:
        f"{WORK}/logs/repeat_training.log",
    conda:
        "../envs/lessonpress.yaml"
    message:
        "repeating every lesson's training and comparing with the stored weights"
    shell:
        f"lessonpress prepare --repeat{OPTIONS} 2>&1 | tee {{log:q}}"
