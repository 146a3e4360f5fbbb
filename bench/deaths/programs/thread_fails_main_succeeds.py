"""An upload thread fails while the main thread finishes in order."""

import threading

import numpy as np


def upload(result, endpoint):
    host, port = endpoint.split(":")
    if not port.isdigit():
        raise ValueError(f"the port of {endpoint!r} is not a number")  # <-- dies here
    print("uploading", result, "to", host)


def main():
    result = float(np.arange(10).mean())
    uploader = threading.Thread(target=upload, args=(result, "metrics.internal:http"), name="uploader")
    uploader.start()
    uploader.join()
    print("result", result)


if __name__ == "__main__":
    main()
