"""Make new DBB questions from other benchmarks' items, with a model as the writer.

``sources``  items of CrowS-Pairs, StereoSet, BBQ and SOFA as rows to start from
``steps``    the eight steps: ``build(step, rows, prompts) -> requests``, ``parse(step, rows, responses) -> rows``
``dataset``  the files that :mod:`biasatlas.benchmarks.dbb.items` reads; the sheet of the manual evaluation, its summary
"""
