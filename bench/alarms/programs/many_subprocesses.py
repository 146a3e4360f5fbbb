"""Hundreds of short programs, some of them with a pipe."""

import subprocess

ballast = bytearray(150 * 2**20)
lengths = 0
for number in range(150):
    subprocess.run(["/bin/true"], check=True)
    lengths += len(subprocess.run(["/bin/echo", str(number)], check=True, capture_output=True).stdout)
counted = subprocess.run("seq 1 200000 | sort -rn | head -1", shell=True, check=True, capture_output=True, text=True)
print("lengths", lengths, counted.stdout.strip(), len(ballast))
