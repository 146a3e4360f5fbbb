"""The usual loop: open each image with Pillow, and verify it."""

import json
import sys
import time
from pathlib import Path

from PIL import Image

began = time.perf_counter()
count = bad = 0
for path in sorted(Path(sys.argv[1]).rglob("*.jpg")):
    count += 1
    try:
        with Image.open(path) as image:
            image.verify()
    except Exception:
        bad += 1
print(json.dumps({"files": count, "bad": bad, "inner_s": time.perf_counter() - began}))
