#!/bin/sh
# Process 1 of a sandbox. Orphaned processes become children of process 1, which must reap them when they exit. Node cannot
# do that, but a shell's `wait` does. This script forwards signals to the daemon and exits with the daemon's exit code.
trap 'kill -TERM "$daemon" 2>/dev/null' TERM INT HUP
here=${0%/*}
"$here/bin/node" "$here/daemon.cjs" &
daemon=$!
wait "$daemon"
code=$?
while kill -0 "$daemon" 2>/dev/null; do
  wait "$daemon"
  code=$?
done
exit "$code"
