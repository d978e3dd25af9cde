#!/bin/sh
# The first process of a sandbox. A program whose parent has died becomes a child of process 1, which must collect it
# when it ends; Node cannot do that, `wait` of a shell does. Passes the request to stop on, and the daemon's end is ours.
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
