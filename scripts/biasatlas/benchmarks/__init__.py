"""One folder per benchmark, each with the same modules, one per step of the workflow.

A step imports only its own module, so that an edit to a table's code reruns tables and asks no model again:

``__init__``  SPEC, a :class:`biasatlas.benchmarks.contract.Benchmark`, and OPTIONS, the typed protocol options
``items``     ``read_items(files) -> items``
``requests``  ``build_requests(items, task, categories, protocol) -> requests``
``released``  ``import_responses(name, files, items, requests, task) -> responses`` (where outputs were published)
``parse``     READERS, answer readers of its own beside those of :mod:`biasatlas.benchmarks.shared.readers` (where it needs any)
``judge``     ``build_judge_requests(items, requests, responses, task, protocol, judgements=None)`` (where a judge scores),
              ``build_order_requests(items, categories)`` (where a task is ``ordered``; its responses are then given to
              ``build_requests`` as ``orders``)
``scores``    ``score_responses(items, requests, responses, task, category, protocol) -> scores``
``tables``    ``TABLES[name](scores, protocol, published, published_as) -> table``
``figures``   ``FIGURES[name](tables) -> matplotlib Figure``
"""
