# Words to type: `snakemake --cores 2 twbias`, `snakemake --cores 2 twbias_gender`. `--list-target-rules` lists them.


rule demo:
    """The shipped configuration, from planted models to the report."""
    input:
        rules.all.input,


rule report:
    """The report page."""
    input:
        REPORT,


rule construction:
    """New questions in the manner of DBB: each step's rows with their verdicts, a dataset, a sheet to judge it by hand."""
    input:
        constructed(),
        rules.collect_construction.output if construction_sources() else [],


if CONFIG.construction and "dbb" in BENCHMARKS:

    rule dbb_variations:
        """Ten variations of each of DBB's questions by the writer of the construction, as semi-generation needs them."""
        input:
            rules.collect_variations.output,


rule comparison:
    """The benchmarks side by side, as in DBB's Tables 1 and 5 and its Figures 5 to 7."""
    input:
        all_comparisons(),


for benchmark, spec in BENCHMARKS.items():

    rule:
        name:
            benchmark
        input:
            all_tables(benchmark),
            all_figures(benchmark),

    describe(benchmark, f"Every table and figure of {spec.title}.")
    for kind, made in (("table", plan.tables), ("figure", plan.figures)):
        names = {
            name: [
                protocol
                for run, protocol in PROTOCOLS
                if run == benchmark and name in made(CONFIG, benchmark, protocol)
            ]
            for name in getattr(spec, f"{kind}s")
        }
        for name, protocols in names.items():
            if protocols:

                rule:
                    name:
                        f"{benchmark}_{kind}_{name}"
                    input:
                        expand(
                            TABLE if kind == "table" else FIGURE,
                            benchmark=benchmark,
                            protocol=protocols,
                            table=name,
                            figure=name,
                        ),

                describe(f"{benchmark}_{kind}_{name}", getattr(spec, f"{kind}s")[name].caption)
