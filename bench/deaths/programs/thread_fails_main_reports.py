"""A loader thread fails; the main thread notices that nothing came and exits with 1."""

import queue
import sys
import threading


class Loader(threading.Thread):
    def __init__(self, records, out):
        super().__init__(name="loader")
        self.records = records
        self.out = out

    def parse(self, record):
        name, value = record.split("=")
        return name, float(value)  # <-- dies here

    def run(self):
        for record in self.records:
            self.out.put(self.parse(record))


def main():
    out = queue.Queue()
    loader = Loader(["a=1.5", "b=2.0", "c=n/a", "d=4"], out)
    loader.start()
    loader.join()
    if out.qsize() < 4:
        print(f"only {out.qsize()} of 4 records arrived", file=sys.stderr)
        sys.exit(1)  # <-- or here
    print("all there")


if __name__ == "__main__":
    main()
