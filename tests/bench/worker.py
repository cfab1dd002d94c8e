"""One subject in a process of its own. Run: python -m tests.bench.worker SUBJECT BASE_URL

Each line on stdin is a number of units to do; the answer on stdout is the seconds of CPU that they took.
"""

from __future__ import annotations

import gc
import sys
from time import process_time

from tests.bench.peers import PEER_SUBJECTS
from tests.bench.subjects import SUBJECTS

__all__ = ["main"]


def main(name: str, base: str) -> None:
    with (SUBJECTS | PEER_SUBJECTS)[name](base) as work:
        print("ready", flush=True)
        for line in sys.stdin:
            gc.collect()
            start = process_time()
            work(int(line))
            print(process_time() - start, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
