"""CleanVision over a folder: the issues that are named, or all that it looks for."""

import contextlib
import io
import json
import os
import sys
import time

from cleanvision import Imagelab

if __name__ == "__main__":
    began = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        lab = Imagelab(data_path=sys.argv[1])
        wanted = {each: {} for each in sys.argv[2:]} or None
        lab.find_issues(wanted, n_jobs=len(os.sched_getaffinity(0)), verbose=False)
    print(json.dumps({"files": len(lab.issues), "inner_s": time.perf_counter() - began}))
