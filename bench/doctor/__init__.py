"""Broken and right environments, judged by `crashcart doctor`."""
