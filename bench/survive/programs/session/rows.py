"""Cells of a notebook that reads rows."""

# %%
import json

cities = {number: f"city {number}" for number in range(1000)}
# %%
rows = []
for number in range(3_000_000):
    rows.append({"id": number, "city": cities[number % 1000], "prices": [number, number / 2]})
# %%
print("rows so far are more than none:", len(rows) > 0)
# %%
del rows
# %%
text = json.dumps(cities)
rows = [{"id": number} for number in range(100_000)]
print("ALIVE", len(text) + sum(row["id"] for row in rows))
