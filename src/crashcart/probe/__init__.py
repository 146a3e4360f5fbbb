"""The only seam to the machine: probes read the world and never judge.

Covers: memory, processes, the machine, the kernel log, devices, disks, installed packages, source text.
Does not cover: conclusions (rules). Whatever reads /proc or /sys takes its root as a parameter, so that tests hand it a
folder; what cannot be known is None.
"""
