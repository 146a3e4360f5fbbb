"""Threads with a gigabyte of stack each, as `ulimit -s` asks for, hardly used."""

import resource
import sys
import threading

sys.setrecursionlimit(20_000)
barrier, depths = threading.Barrier(8), []


def depth(level):
    return level if level == 3_000 else depth(level + 1)


def work():
    barrier.wait()
    depths.append(depth(0))


print("stack", resource.getrlimit(resource.RLIMIT_STACK)[0])
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("depths", depths)
