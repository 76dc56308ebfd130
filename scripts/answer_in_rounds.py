"""Ask one model every task of a benchmark in rounds, until the report's verdict is there (rule answer_in_rounds)."""

from collections import Counter

import pandas as pd

from biasatlas.benchmarks import registry
from biasatlas.benchmarks.comparisons.cards import read_cards
from biasatlas.benchmarks.comparisons.pairs import Answers
from biasatlas.benchmarks.comparisons.rounds import ask_in_rounds, family_claims
from biasatlas.benchmarks.shared.order import asking_order, rounds_of
from biasatlas.files import read_asked, read_parquet, read_requests, write_responses, write_text
from biasatlas.models.scheduling import answer_batches
from biasatlas.workflow.job import job

with job(snakemake) as this:
    name, given, resources = snakemake.wildcards.model, snakemake.input, this.resources
    model, items = this.open_model(name), read_parquet(given.items_file)
    requests = {task: read_requests(path) for task, path in this.given("requests").items()}
    asked = {task: read_asked(path) for task, path in this.given("requests").items()}
    parts: dict[str, list[pd.DataFrame]] = {task: [] for task in requests}
    made: dict[str, dict] = {}
    taken: dict[str, Counter] = {task: Counter() for task in requests}
    done: set[str] = set()

    def ask(ids):
        """Answer the requests of items that were not asked before. Each round is batched by itself, so that a restarted
        job computes every answer in the same batch."""
        new = set(ids) - done
        for task, of_task in requests.items():
            this.at(task)
            part = of_task[of_task["item_id"].isin(new)].reset_index(drop=True)
            if len(part):
                store = this.store(name, this.name, this.protocol, task)
                asks = model.for_rounds(of_task) if hasattr(model, "for_rounds") else model
                responses, made[task] = answer_batches(asks, part, task, store)
                parts[task].append(responses)
                taken[task].update({k: v for k, v in made[task].get("run", {}).items() if k != "peak_memory_mib"})
        done.update(new)

    def scores():
        """The scores of everything that was asked."""
        score, mine = registry.score_responses(this.benchmark), items[items["item_id"].isin(done)]
        for task, frames in parts.items():
            mine_asked = asked[task][asked[task]["item_id"].isin(done)].reset_index(drop=True)
            responses = pd.concat(frames, ignore_index=True)
            for category in this.step["categories"][task]:
                found = score(
                    mine.reset_index(drop=True), mine_asked, responses, task, category, this.options, resources
                )
                yield found.assign(model=name, task=task, category=category)

    def evidence(ids):
        """The evidence after the items ``ids``, which are asked if they were not."""
        ask(ids)
        found = [rows for rows in scores() if len(rows)]
        answers = Answers(pd.concat(found, ignore_index=True), this.options, this.benchmark)
        return answers.evidence().values()

    wanted = {name for of_task in requests.values() for name in of_task["item_id"]}
    design = registry.spec_view(this.benchmark, "rounds").design
    order = [name for name in asking_order(items, design) if name in wanted]
    cards = read_cards(this.given("cards"))
    mine = items[items["item_id"].isin(wanted)]
    stop = ask_in_rounds(
        rounds_of(items, design, order, [of_task["item_id"] for of_task in requests.values()]),
        evidence,
        family_claims(f"{name}/{this.name}", this.benchmark, this.protocol, cards),
        tests=this.step["families"],
        categories=mine["category"].value_counts().sort_index().to_dict() if "category" in mine else {},
    )
    written = {}
    for task, frames in parts.items():
        asked_of_it = stop.cut(requests[task])
        if hasattr(model, "account"):  # an endpoint was paid for all rounds, not for the last alone
            made[task] = model.account(asked_of_it, this.store(name, this.name, this.protocol, task))
        rank = {request: place for place, request in enumerate(requests[task]["request_id"])}
        together = pd.concat(frames, ignore_index=True)
        paid = set(asked_of_it["request_id"])  # a round that the budget did not pay in full does not count
        together = together[together["request_id"].isin(paid)]
        together = together.sort_values("request_id", key=lambda ids: ids.map(rank), kind="stable", ignore_index=True)
        run = {"run": dict(taken[task])} if taken[task] else {}
        written[task] = together, requests[task]["kind"].iloc[0], made[task] | run
    this.count_run(name, (metadata for _, _, metadata in written.values()), this.name, this.protocol)
    write_responses(written, snakemake.output.responses, snakemake.output.run)
    write_text(stop.to_json(), snakemake.output.stop)
