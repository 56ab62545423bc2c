# A job that fails loses its outputs, so the jobs that write verdicts and reports always succeed; `verify` alone fails.
# The verdicts of each run lie in a folder of their own, because every run compares again.
rule compare:
    """Regenerate a lesson into scratch and compare it with what is published."""
    input:
        sources,
    output:
        verdict=f"{WORK}/verify/_runs/{{run}}/{{slug}}.json",
    log:
        f"{WORK}/verify/_runs/{{run}}/{{slug}}.log",
    group:
        "compare"
    conda:
        "../envs/lessonpress.yaml"
    message:
        "verifying {wildcards.slug}"
    shell:
        f"lessonpress compare {{wildcards.slug}} --receipt {{output.verdict:q}}{OPTIONS}"


rule report_verification:
    """Write the reports of the verification: a page, JSON, JUnit XML and Markdown."""
    input:
        verdicts,
    output:
        page=report(
            f"{WORK}/verify/report.html",
            caption="../report/verify.rst",
            category="Drift",
            labels={"lesson": "all lessons", "found by": "verify"},
        ),
        data=f"{WORK}/verify/report.json",
        junit=f"{WORK}/verify/junit.xml",
        summary=f"{WORK}/verify/summary.md",
    log:
        f"{WORK}/logs/report_verification.log",
    conda:
        "../envs/lessonpress.yaml"
    params:
        verdicts=STATE.verdicts,
    message:
        "comparing with what is published"
    shell:
        f"lessonpress report {{params.verdicts:q}}{OPTIONS}"


rule verify:
    """Regenerate everything, compare it with what is published, and fail where it is not the same."""
    input:
        report=rules.report_verification.output.data,
    log:
        f"{WORK}/logs/verify.log",
    retries: 0
    conda:
        "../envs/lessonpress.yaml"
    message:
        "looking for drift in the reports"
    shell:
        f"lessonpress verify --recorded{OPTIONS} 2>&1 | tee {{log:q}}"
