"""The loop that decodes: open each image with Pillow and load all of it, in as many processes as there are cores."""

import json
import os
import sys
import time
from multiprocessing import Pool
from pathlib import Path

from PIL import Image


def read(path: str) -> bool:
    try:
        with Image.open(path) as image:
            image.load()
    except Exception:
        return True
    return False


if __name__ == "__main__":
    began = time.perf_counter()
    paths = sorted(map(str, Path(sys.argv[1]).rglob("*.jpg")))
    with Pool(len(os.sched_getaffinity(0))) as pool:
        bad = sum(pool.imap_unordered(read, paths, 16))
    print(json.dumps({"files": len(paths), "bad": bad, "inner_s": time.perf_counter() - began}))
