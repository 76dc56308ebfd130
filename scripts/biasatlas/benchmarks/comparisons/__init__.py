"""Which numbers to believe: models compared on the same items, verdicts among many tests, and other analyses.

``declared``     captions and metrics of the tables
``pairs``        the difference of two models, item by item
``cards``        what simulation studies say about each metric
``findings``     verdicts, corrected for all tests of a run; ``rounds`` asks until they are there
``reliability``  which numbers separate models, and which rank them alike
``framings``     the same numbers under other framings of the questions
``multiverse``   other analyses of the same responses
``summary``      the verdicts on one model, in words
``figures``      pairs, framings and multiverses as figures
"""
