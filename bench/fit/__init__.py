"""The fit bench: true peaks of real models on the allocator that GPUs use, beside what is estimated without running."""
