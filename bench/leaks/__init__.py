"""Programs that leak and programs that do not: what `crashcart leaks` says of them, and what watching costs."""
