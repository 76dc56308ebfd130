# Bias Atlas: raw data -> items -> requests -> responses -> scores -> tables, figures and a report.
from snakemake.utils import min_version

min_version("9.27")


# A configuration is complete in itself: the demo's is read only where no other is given.
if not workflow.overwrite_configfiles:

    configfile: f"{workflow.current_basedir}/config/config.yaml"


include: "rules/common.smk"


onstart:
    for benchmark in BENCHMARKS:
        for sentence in plan.left_out(CONFIG, benchmark):
            print(f"note: {sentence}", file=sys.stderr)


rule all:
    """Everything the configuration asks for: tables, figures and the report."""
    default_target: True
    input:
        all_tables(),
        all_figures(),
        all_comparisons(),
        constructed(),
        REPORT,


include: "rules/data.smk"
include: "rules/requests.smk"
include: "rules/models.smk"
include: "rules/responses.smk"
include: "rules/judgements.smk"
include: "rules/scores.smk"
include: "rules/tables.smk"
include: "rules/construction.smk"
include: "rules/report.smk"
include: "rules/targets.smk"
