import sys

from bias_atlas_cli import main

sys.exit(main())
