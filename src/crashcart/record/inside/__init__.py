"""What runs inside the watched program. The folder is put on PYTHONPATH; nothing in it imports crashcart."""
