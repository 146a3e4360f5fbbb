"""Rows into a database and back into a table."""

import sqlite3

import numpy as np
import pandas as pd

with sqlite3.connect("orders.db") as database:
    database.execute("create table orders (id integer, shop integer, price real)")
    rows = ((number, number % 50, number * 0.25) for number in range(400_000))
    database.executemany("insert into orders values (?, ?, ?)", rows)
    frame = pd.read_sql("select * from orders", database)
frame["rank"] = frame.groupby("shop")["price"].rank()
frame.to_csv("orders.csv", index=False)
again = pd.read_csv("orders.csv")
print("rows", len(again), again["price"].sum(), int(np.abs(again["rank"] - frame["rank"]).max()))
