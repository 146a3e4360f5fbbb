"""Programs that rightly use memory: the guard must not disturb them."""
