"""What a watched kernel costs: until it answers for the first time, and per cell."""
