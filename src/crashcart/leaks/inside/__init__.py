"""What watches a program's growth from inside of it: standard library only, loaded by file as the start-up hook loads it."""
