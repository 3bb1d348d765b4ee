"""python -m chronolink"""

from .cli import main

raise SystemExit(main())
