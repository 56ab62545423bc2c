# Lessons from their source to their rendered revision, a batch of those that are due in one job. The job may run on any
# machine that shares the work folder: it writes below it and nowhere else. A lesson's mistakes are told in `done`, so
# that one that fails takes no other with it; publish is the gate.
rule produce:
    input:
        plan=f"{NOTES}/batches/{{batch}}.plan",
    output:
        done=temp(f"{WORK}/batches/{{batch}}.done"),
    log:
        f"{WORK}/batches/{{batch}}.log",
    benchmark:
        f"{WORK}/batches/{{batch}}.tsv"
    retries: 2  # a lesson's mistakes do not fail the job; a node that dies does
    conda:
        "../envs/lessonpress.yaml"
    threads: 64  # as many as --cores gives
    message:
        "producing {wildcards.batch}"
    shell:
        "python -m lessonpress batch {threads} {input.plan:q} {output.done:q} {log:q}"


# For who asks for a lesson's file by its name, such as work/<slug>/capture.json; nothing else needs this rule.
rule lesson:
    input:
        lesson=sources,
        code=f"{NOTES}/code/all.sha256",
    output:
        update(f"{WORK}/{{slug}}/source.json"),
        update(f"{WORK}/{{slug}}/capture.json"),
        update(f"{WORK}/{{slug}}/cases.json"),
        update(f"{WORK}/{{slug}}/cases.csv"),
        update(f"{WORK}/{{slug}}/checks.json"),
        update(f"{WORK}/{{slug}}/rendered.json"),
    log:
        f"{WORK}/logs/{{slug}}.log",
    conda:
        "../envs/lessonpress.yaml"
    message:
        "producing {wildcards.slug}"
    shell:
        "python -m lessonpress produce {wildcards.slug:q} 2>&1 | tee {log:q} && touch -c {output:q}"
