"""crashcart in Jupyter: the kernel side, and what the server and JupyterLab show."""
