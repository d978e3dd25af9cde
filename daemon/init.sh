#!/bin/sh
# Process 1 of a sandbox. Orphaned processes become children of process 1, which must reap them when they exit. Node cannot
# do that, but a shell's `wait` does. This script forwards signals to the daemon and exits with the daemon's exit code.
trap 'kill -TERM "$daemon" 2>/dev/null' TERM INT HUP
here=${0%/*}
# The programs in bin/ name a loader in /opt/berth. Elsewhere there is none, as in a daemon outside of a sandbox.
programs=$here/bin
[ "$here" = /opt/berth ] || programs=$here/host

# The image may have a PATH of its own. Our programs come after those of the image.
case ":${PATH:=/usr/local/bin:/usr/bin:/bin}:" in *":$programs:"*) ;; *) PATH=$PATH:$programs ;; esac
export PATH

# The image's options of Node are for its own programs. The daemon passes them on.
[ -z "${NODE_OPTIONS-}" ] || export BERTH_NODE_OPTIONS="$NODE_OPTIONS"
unset NODE_OPTIONS

# V8 accepts a snapshot only with the flags with which build.ts has made it. Without rehashing, the hashes of strings are the same
# in all sandboxes, so that a program in a sandbox could slow down this sandbox's daemon, but no other. The compilers cost more memory
# and time than the daemon's work is worth (reduce-memory.ts), and so do threads for garbage collection. Without these, one of V8's own
# threads is enough; 0 would mean one for each processor. An idle daemon calls `gc` (collect-when-idle.ts).
flags="--no-rehash-snapshot --no-opt --no-maglev --no-sparkplug --max-semi-space-size=1 --single-threaded --v8-pool-size=1 --expose-gc"

# Starts the daemon with options of Node, and sets `code` when it has ended.
run() {
  "$programs/node" "$@" "$here/daemon.cjs" &
  daemon=$!
  wait "$daemon"
  code=$?
  while kill -0 "$daemon" 2>/dev/null; do
    wait "$daemon"
    code=$?
  done
}

# Node exits with this code if the snapshot was made by another version of Node or for another processor.
other_machine=14
code=$other_machine
[ ! -e "$here/daemon.blob" ] || run $flags --snapshot-blob "$here/daemon.blob"
[ "$code" != "$other_machine" ] || run
exit "$code"
