"""The calls of one job under way, however they are sent: their records so far, and why to stop."""

import logging
from collections import Counter

from biasatlas.errors import UserError
from biasatlas.models.endpoint.calls import cost
from biasatlas.models.endpoint.entry import ApiEntry
from biasatlas.models.endpoint.limits import Budget
from biasatlas.models.store import ResponseStore

log = logging.getLogger(__name__)


class Job:
    """What :mod:`.send` and :mod:`.batch` report to: ``records`` by key, and a reason to ``stop``, if there is one.

    ``total`` is the number of calls that the job is about, with those that were in the store.
    """

    def __init__(self, entry: ApiEntry, store: ResponseStore, total: int):
        self.entry, self.store, self.total = entry, store, total
        self.budget = Budget(store.folder, entry.budget)
        self.records: dict[str, dict] = {}
        self.reasons: Counter[str] = Counter()
        self.stop: UserError | None = None
        self.cost = 0.0  # of the answers that came, as the endpoint counts their tokens

    def keep(self, key: str, record: dict) -> None:
        """Take a call's record: an answer goes into the store; of failures too many stop the job."""
        self.records[key] = record
        if record["status"] != "failed":
            self.store.put({key: record}, sync=False)
            self.cost += cost(self.entry, record.get("prompt_tokens") or 0, record.get("completion_tokens") or 0)
            return
        reason = record["detail"]
        self.reasons[reason] += 1
        failed = self.reasons.total()
        log.warning("failed: %s", reason)
        if failed > self.entry.max_failed_share * self.total and not self.stop:
            reasons = "; ".join(f"{count} x {reason}" for reason, count in self.reasons.most_common(3))
            self.stop = UserError(
                f"{self.entry.model} at {self.entry.base_url}: {failed} of {self.total} calls failed, more than "
                f"`max_failed_share` ({self.entry.max_failed_share:.1%}) allows: {reasons}. All answers are kept; run "
                "again to ask for the rest."
            )

    def remark(self) -> str:
        """Beside the progress of the calls: how many failed, and what the others cost."""
        return f"{self.reasons.total()} failed, {self.cost:.4f} {self.entry.currency}"

    def budget_error(self, worst: float) -> UserError:
        """What to tell the user when a call that may cost ``worst`` does not fit into the budget."""
        return UserError(
            f"{self.entry.model} at {self.entry.base_url}: the budget of {self.entry.budget} {self.entry.currency} is "
            f"used up ({self.budget.spent:.4f} spent or set aside, the next call may cost {worst:.4f}). All answers "
            "are kept; raise `budget` and run again for the rest."
        )
