# A lesson from its source to its rendered revision. `key` is the digest of the lesson's files and of the code of the
# steps: a file that does not exist under that name is due. A step writes only below its lesson's folder, so it may run on
# any machine that shares the work folder.
rule hash:
    """Read a lesson, refuse what is wrong with it, and write its source record."""
    input:
        sources,
    output:
        source=f"{LESSON}/source.json",
    log:
        f"{LESSON}/hash.log",
    group:
        "lesson"
    conda:
        "../envs/lessonpress.yaml"
    message:
        "hashing {wildcards.slug}"
    shell:
        f"lessonpress hash {{wildcards.slug}} --key {{wildcards.key}}{OPTIONS}"


rule execute:
    """Run a lesson's model once, confined and seeded, and keep what it recorded."""
    input:
        source=rules.hash.output.source,
    output:
        capture=f"{LESSON}/capture.json",
        mutants=f"{LESSON}/mutants.json",
    log:
        f"{LESSON}/execute.log",
    group:
        "lesson"
    conda:
        "../envs/lessonpress.yaml"
    message:
        "running {wildcards.slug}"
    shell:
        f"lessonpress execute {{wildcards.slug}} --key {{wildcards.key}}{OPTIONS}"


rule record:
    """Cut the recorded cases out of what ran, as JSON and as a tidy table."""
    input:
        source=rules.hash.output.source,
        capture=rules.execute.output.capture,
    output:
        cases=f"{LESSON}/cases.json",
        table=f"{LESSON}/cases.csv",
    log:
        f"{LESSON}/record.log",
    group:
        "lesson"
    conda:
        "../envs/lessonpress.yaml"
    message:
        "recording {wildcards.slug}"
    shell:
        f"lessonpress record {{wildcards.slug}} --key {{wildcards.key}}{OPTIONS}"


rule check:
    """Run a lesson's numerical checks, on the lesson and on its broken variants."""
    input:
        source=rules.hash.output.source,
        capture=rules.execute.output.capture,
        mutants=rules.execute.output.mutants,
    output:
        checks=report(
            f"{LESSON}/checks.json",
            caption="../report/checks.rst",
            category="Checks",
            labels={"lesson": "{slug}"},
        ),
    log:
        f"{LESSON}/check.log",
    group:
        "lesson"
    conda:
        "../envs/lessonpress.yaml"
    message:
        "checking {wildcards.slug}"
    shell:
        f"lessonpress check {{wildcards.slug}} --key {{wildcards.key}}{OPTIONS}"


rule render:
    """Make every file of a lesson's revision: manifest, graph, page, bundle; and run the bundle as a reader would."""
    input:
        source=rules.hash.output.source,
        capture=rules.execute.output.capture,
        cases=rules.record.output.cases,
        table=rules.record.output.table,
        checks=rules.check.output.checks,
    output:
        rendered=f"{LESSON}/rendered.json",
        rehearsed=f"{LESSON}/rehearsed.json",
        revision=report(
            directory(f"{LESSON}/revision"),
            patterns=["{picture}.svg"],
            caption="../report/preview.rst",
            category="Previews",
            labels={"lesson": "{slug}"},
        ),
    log:
        f"{LESSON}/render.log",
    group:
        "lesson"
    conda:
        "../envs/lessonpress.yaml"
    message:
        "rendering {wildcards.slug}"
    shell:
        f"lessonpress render {{wildcards.slug}} --key {{wildcards.key}}{OPTIONS}"
