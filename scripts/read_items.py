"""Read and validate a benchmark's raw data (rule read_items)."""

import logging
import sys

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.shared.audit import audit
from biasatlas.files import write_items
from biasatlas.sources import PUBLISHED_DATA, raw_files
from biasatlas.userfiles import listed
from biasatlas.workflow import provenance
from biasatlas.workflow.job import job

with job(snakemake) as this:
    raw = this.given("raw")
    files = raw_files(raw.keys(), raw.values())
    opened = set()
    sys.addaudithook(lambda event, values: opened.add(str(values[0])) if event == "open" else None)
    terminal = logging.StreamHandler()
    terminal.addFilter(lambda record: record.levelno == logging.WARNING)
    logging.getLogger().addHandler(terminal)
    read_options = this.step["read_options"]
    items = registry.read_items(this.benchmark)(files, this.resources, **read_options)
    check = registry.check_items(this.benchmark)
    if check and this.step["data"] in PUBLISHED_DATA:
        for remark in check(items, this.resources, **read_options):
            logging.warning("%s: %s", this.name, remark)
    if this.config.benchmarks[this.name].folder:
        groups = items["category" if "category" in items else "target_group"]
        counts = ", ".join(f"{count} of {name}" for name, count in groups.value_counts(sort=False).items())
        unparsed = listed(name for name, path in files.items() if str(path) not in opened)
        print(f"{this.name}: {len(items)} items ({counts}); files that were not read: {unparsed}", file=sys.stderr)
        print(*(f"{this.name}: {sentence}\n" for sentence in audit(items)), sep="", end="", file=sys.stderr)
    checksums = {name: provenance.sha256(path) for name, path in files.items()}
    write_items(
        items, snakemake.output.items_file, registry.spec_view(this.benchmark, "read_items").items, {"files": checksums}
    )
