#!/bin/sh
# Runs a command with a small file system of its own at a directory, in a private mount namespace: SIZE DIRECTORY COMMAND...
size=$1
directory=$2
shift 2
exec unshare -m sh -c 'mkdir -p "$1" && mount -t tmpfs -o size="$0" tmpfs "$1" && shift && exec "$@"' "$size" "$directory" "$@"
