"""Every architecture of tests/unit/engine/architectures.py, tiny and random: the engine beside one forward pass for
each whole sequence. The table of docs/measurements-engine.md.

    python bench/parity.py                    # all of them, as a table in Markdown
    python bench/parity.py qwen2 mamba2       # some
    python bench/parity.py --cuda             # on a GPU, against the CPU
    python bench/parity.py --compiled qwen2 gemma2        # layers compiled, as on a GPU; needs a C++ compiler
    torchrun --nproc-per-node 2 bench/parity.py qwen2     # split over two processes, against the whole in each
"""

import copy
import io
import os
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests/unit")]

import torch  # noqa: E402
import transformers  # noqa: E402
from engine import architectures, parity  # noqa: E402
from transformers.distributed import DistributedConfig  # noqa: E402

from biasatlas.models.local.split import why_whole  # noqa: E402

#: Largest difference of a log-likelihood in nats, and of a label's probability.
LIMIT = 1e-4


def main(names: list[str]) -> None:
    """Print the table; exit status 1 where an architecture is beyond LIMIT or writes another text."""
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    transformers.logging.disable_progress_bar()
    processes, wrong = int(os.environ.get("WORLD_SIZE", "1")), []
    if os.environ.get("RANK", "0") != "0":
        sys.stdout = io.StringIO()  # all processes find the same
    compiled = "inductor" if "--compiled" in names else ""
    device = "cuda" if "--cuda" in names else "cpu"
    names = [name for name in names if name not in ("--compiled", "--cuda")]
    print("| architecture | route | likelihood, nats | choice | greedy texts |\n| --- | --- | --- | --- | --- |")
    for name in names or architectures.NAMES:
        model = whole = architectures.build(name)
        architectures.build.cache_clear()
        if device != "cpu":
            torch.backends.cudnn.allow_tf32 = False
            model = copy.deepcopy(whole).to(device)
        if processes > 1:
            reason = why_whole(whole.config, processes)
            if reason:
                print(f"| {name} | not split: {reason} | | | |", flush=True)
                continue
            model = split(whole, processes)
        found = parity.compare(model, whole, compiled=compiled)
        print(
            f"| {name} | {found.route.name} | {found.likelihood:.0e} | {found.choice:.0e} | {found.texts} of "
            f"{found.of} |",
            flush=True,
        )
        if found.route.reason:
            print(f"{name}: {found.route.reason}", file=sys.stderr)
        if max(found.likelihood, found.choice) > LIMIT or found.texts < found.of:
            wrong.append(name)
    if wrong:
        sys.exit(f"beyond {LIMIT:g}, or another text: {', '.join(wrong)}")


def split(whole: transformers.PreTrainedModel, processes: int) -> transformers.PreTrainedModel:
    """This process's part of a model."""
    place = DistributedConfig(tp_size=processes)
    return type(whole).from_pretrained(
        None, config=whole.config, state_dict=whole.state_dict(), distributed_config=place
    )


if __name__ == "__main__":
    main(sys.argv[1:])
