import sys

from tests.soak.load import main

sys.exit(main())
