"""A simulation that never lets go of its particles."""

from dataclasses import dataclass

start = [(step, step * 2) for step in range(1000)]


@dataclass
class Particle:
    x: float
    y: float
    path: list


def simulate(steps):
    alive = []
    for step in range(steps):
        x, y = start[step % 1000]
        alive.append(Particle(x + step, y - step, [(x, y)]))
    return alive


try:
    print("particles", len(simulate(4_000_000)))
except MemoryError as error:
    print("refused", type(error).__name__)

print("ALIVE", sum(particle.x for particle in simulate(10_000)))
