# The names by which other workflows ask for a lesson's files, whatever its state: work/<slug>/cases.csv and its
# neighbours. Where such a file belongs to another state, it is made again, whatever its time.
rule name:
    """Give a file of a lesson's present state the name work/<slug>/<file>, for other workflows."""
    input:
        named,
    output:
        f"{WORK}/{{slug}}/{{file}}",
    log:
        f"{WORK}/{{slug}}/{{file}}.log",
    conda:
        "../envs/lessonpress.yaml"
    message:
        "naming {wildcards.file} of {wildcards.slug}"
    shell:
        f"lessonpress name {{wildcards.slug}} {{wildcards.file}}{OPTIONS}"
