"""Print the folder of results that a configuration names, or what is wrong with its file.

For those who read the file before Snakemake does, which answers one that is missing or not UTF-8 with a traceback.
"""

import sys

from biasatlas.errors import UserError
from biasatlas.validation import read_yaml
from biasatlas.workflow.config import Config
from biasatlas.workflow.config.files import check_files

path = sys.argv[1]
try:
    check_files([path])
    print(read_yaml(path).get("results", Config.model_fields["results"].default))
except UserError as error:
    sys.exit(f"error: {error}")
