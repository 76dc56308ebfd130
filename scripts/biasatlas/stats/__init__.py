"""Tests, effect sizes, intervals and corrections. Plain arrays in and out; nothing about benchmarks.

Where scipy or statsmodels has a function, callers use that. This package has what they lack, above all functions that
work on many columns and resamples at once.
"""

import numpy as np
from numpy.typing import NDArray

#: Floats, of any shape; NaN is missing.
Array = NDArray[np.float64]
