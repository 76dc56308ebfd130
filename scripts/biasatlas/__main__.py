"""What people type: ``bias-atlas VERB``, or ``./bias-atlas VERB`` in a clone that is not installed.

Each verb is a function of :mod:`.commands`.
"""

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Callable
from inspect import cleandoc
from typing import Any

from biasatlas import commands
from biasatlas.errors import UserError


def _parser() -> ArgumentParser:
    """The command line. The help of a verb is the docstring of its function."""
    parser = ArgumentParser(
        prog="bias-atlas",
        description="Measure social bias in language models.",
        epilog="bias-atlas VERB --help says more. A verb that failed exits with 2 and one sentence.",
    )
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    _add_runs(verbs)
    _add_results(verbs)
    _add_benchmarks(verbs)
    _verb(verbs, commands.write_reference)
    return parser


def _add_runs(verbs: Any) -> None:
    """Add the verbs that start from a configuration."""
    verb = _verb(verbs, commands.init)
    verb.add_argument("configfile", nargs="?", default="bias-atlas.yaml", help="file to write (bias-atlas.yaml)")
    which = verb.add_mutually_exclusive_group(required=True)
    which.add_argument("--model", default="", help="folder of a model in Hugging Face format, or its name on the hub")
    which.add_argument("--endpoint", default="", help="address of an OpenAI-compatible endpoint, as https://host/v1")
    verb.add_argument("--served", default="", help="name of the model at the endpoint")
    verb.add_argument("--budget", type=float, help="most that the endpoint may cost, in its currency; needs --prices")
    verb.add_argument(
        "--prices", type=float, nargs=2, metavar=("IN", "OUT"), help="per million tokens read and written"
    )
    verb.add_argument(
        "--sample", action="store_true", help="take the small samples that are shipped: no network needed"
    )
    for function in (commands.run, commands.check, commands.plan):
        verb = _verb(verbs, function)
        verb.add_argument("configfile", help="configuration of the run")
        _goes_on_to_snakemake(verb)
    verb = _verb(verbs, commands.open_report, "open")
    verb.add_argument("configfile", help="configuration of a finished run")


def _add_results(verbs: Any) -> None:
    """Add the verbs about results and stores."""
    verb = _verb(verbs, commands.replicate)
    papers = ("mcbe", "twbias", "dbb", "bbq", "crows_pairs", "stereoset")
    verb.add_argument("paper", nargs="?", choices=papers, help="which paper; all of them if left out")
    part = verb.add_mutually_exclusive_group()
    part.add_argument("--table", default="", metavar="N", help="one table of the paper")
    part.add_argument("--figure", default="", metavar="N", help="one figure of the paper")
    _goes_on_to_snakemake(verb)
    verb = _verb(verbs, commands.compare)
    verb.add_argument("before", help="results folder of one run")
    verb.add_argument("after", help="results folder of the other")
    verb = _verb(verbs, commands.reparse)
    verb.add_argument("results", help="results folder of a run")
    verb.add_argument("parser", help="name of the parser, as letter, label, integer or decimal")
    verb.add_argument("--examples", type=_count, default=10, help="changes of each task that are printed (10)")
    verb = _verb(verbs, commands.parse_report)
    verb.add_argument("results", help="results folder of a run")
    verb.add_argument("--examples", type=_count, default=5, help="replies of each form that are printed (5)")
    verb = _verb(verbs, commands.export_token_logprobs)
    verb.add_argument("configfile", help="configuration of a finished run")
    verb.add_argument(
        "--items", type=_count, default=200, help="scores of each task and model, farthest from neutral (200)"
    )
    verb = _verb(verbs, commands.export_results)
    verb.add_argument("configfile", help="configuration of a finished run")
    verb.add_argument("formats", nargs="+", help="eee, hf, rocrate, croissant")
    verb = _verb(verbs, commands.check_store)
    verb.add_argument("folder", help="folder with the store of a model, or of all: results/store")
    verb.add_argument("--repair", action="store_true", help="take damaged lines out of their files")


def _add_benchmarks(verbs: Any) -> None:
    """Add the verbs for a new benchmark or data source."""
    verb = _verb(verbs, commands.new_benchmark)
    verb.add_argument("name", help="what it shall be called: letters, digits and _")
    verb.add_argument("family", help="pairs, questions, decisions or contexts")
    for function in (commands.test_benchmark, commands.validate_benchmark):
        verb = _verb(verbs, function)
        verb.add_argument("name", help="a benchmark of config/benchmarks, or the path of a description")
        verb.add_argument("data", nargs="?", default="", help="folder with its data; the shipped sample if not given")
    verb.add_argument(
        "--seeds",
        type=int,
        default=40,
        help="models of each setting, five times as many where these say too little; 30 at least (40)",
    )
    verb = _verb(verbs, commands.benchmark_page)
    verb.add_argument("name", help="a benchmark of config/benchmarks")
    verb = _verb(verbs, commands.list_source)
    verb.add_argument("name", help="the source's name: letters, digits and _")
    verb.add_argument("origin", help="folder, tar archive, or a repository's listing as JSON")
    verb.add_argument("pattern", nargs="?", default="*", help="which files, by path; all of them if not given")
    verb.add_argument("--url", required=True, help="address of a file, with the commit and the slot {path}")
    verb.add_argument("--version", required=True, help="the commit")
    for field, what in (("title", "what it holds"), ("licence", "as stated upstream"), ("citation", "whom to cite")):
        verb.add_argument(f"--{field}", default="", help=what)
    verb.add_argument("--mirror", default="", help="its folder, or tar archive, in a mirror")
    verb.add_argument("--print", action="store_true", dest="only_print", help="print the rows, change no file")


def _goes_on_to_snakemake(verb: ArgumentParser) -> None:
    """Let a verb pass options on to Snakemake. Only ``--cores`` is declared: its number would else be read as the
    verb's own argument."""
    verb.add_argument("-c", "--cores", metavar="N", help="how many cores to use")
    verb.set_defaults(takes_options=True)


def _count(text: str) -> int:
    """The value of an option that counts something: at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)


def _verb(verbs: Any, function: Callable[..., int | None], name: str = "") -> ArgumentParser:
    """The parser of a verb, which has the name of its function unless ``name`` is given."""
    text = cleandoc(function.__doc__ or "")
    verb = verbs.add_parser(
        name or function.__name__.replace("_", "-"),
        help=text.partition("\n")[0],
        description=text,
        formatter_class=RawDescriptionHelpFormatter,
    )
    verb.set_defaults(function=function, takes_options=False)
    return verb


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line says; return the exit status."""
    parser = _parser()
    known, options = parser.parse_known_args(arguments)
    given = vars(known)
    function, takes_options = given.pop("function"), given.pop("takes_options")
    if takes_options:
        cores = given.pop("cores")
        given["options"] = [*(("--cores", cores) if cores else ()), *options]
        first = [*(sys.argv[1:] if arguments is None else arguments), ""][1]
        # The value of an option in front would be taken for the configuration.
        if first.startswith("-") and not os.path.exists(given.get("configfile", ".")):
            verb = f"bias-atlas {function.__name__}"
            parser.error(f"{first}: name the configuration first, as in: {verb} my.yaml {first}")
    elif options:
        parser.error(f"unknown: {' '.join(options)}; bias-atlas {function.__name__.replace('_', '-')} --help")
    try:
        return function(**given) or 0
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
    except ModuleNotFoundError as error:
        said = f"{sys.executable} lacks the package {error.name}. In a clone, `make check` installs what is needed."
        print(f"error: {said}", file=sys.stderr)
    except BrokenPipeError:  # as with `| head`: nobody reads what is left to be flushed
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
    return 2


if __name__ == "__main__":
    sys.exit(main())
