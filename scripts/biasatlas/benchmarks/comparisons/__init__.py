"""Which numbers to believe: models compared on the same items, what is found among many tests, and in how many ways.

``declared``     what the tables hold
``pairs``        the difference of two models, item by item
``cards``        what simulation studies say of each metric
``findings``     what is found once all tests of a run are counted
``reliability``  which numbers tell models apart, and which rank them alike
``framings``     the same numbers under other framings of the questions
``multiverse``   other analyses of the same responses
``summary``      what is said of one model, in words
``figures``      pairs as a picture
"""
