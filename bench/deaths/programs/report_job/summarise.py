"""Print the summary of the night."""

print("nothing to report")
