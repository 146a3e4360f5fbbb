#!/bin/sh
# Runs a command in a cgroup v1 group that allows so many processes and threads: LIMIT COMMAND...
# The group stays empty behind; the next run removes it.
limit=$1
shift
groups=/sys/fs/cgroup/pids
rmdir "$groups"/crashcart-death-* 2>/dev/null
group=$groups/crashcart-death-$$
mkdir "$group" && echo "$limit" >"$group/pids.max" && echo $$ >"$group/cgroup.procs" && exec "$@"
