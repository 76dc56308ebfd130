"""The section `laboratory`: every metric measured on models whose truth is known."""

from biasatlas.marks import Marked, field


class Laboratory(Marked):
    """Metrics measured on known models (target `laboratory`): `resources/laboratory/studies.yaml` says which and how."""

    seeds: int = field(
        "scores", 200, ge=2, le=100_000, description="Models of each setting, which differ in their seed."
    )
    studies: list[str] | None = field("nothing", None, description="The studies, by name; empty: all of them.")
