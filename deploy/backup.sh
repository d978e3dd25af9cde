#!/bin/sh
# A copy of a data folder, made while the service runs:
#   deploy/backup.sh /var/lib/berth /backups/berth.tar
# The database is copied as of one moment, and first: a sandbox that is newer than it has no owner after a restore and is
# cleared away. Paused sessions are copied exactly; of running ones what has reached the disk. See docs/backup.md.
set -eu
data=${1:?"usage: backup.sh DATA_FOLDER TARGET.tar"}
target=${2:?"usage: backup.sh DATA_FOLDER TARGET.tar"}
here=$(cd "$(dirname "$0")/.." && pwd)
node=$here/node_modules/.bin/node
[ -x "$node" ] || node=node

# It holds the master key and everybody's files.
umask 077
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM

if [ -e "$data/berth.db" ]; then
  "$node" -e '
    const { DatabaseSync } = require("node:sqlite");
    new DatabaseSync(process.argv[1]).prepare("VACUUM INTO ?").run(process.argv[2]);
  ' "$data/berth.db" "$scratch/berth.db"
fi
# What sandboxes wrote goes from memory into the files that hold their disks.
sync
# Disks are sparse files, and mounted where a sandbox runs: the file is copied, not the mount. Sockets cannot be.
tar --create --file "$target.part" --directory "$data" --sparse --numeric-owner --one-file-system --warning=no-file-ignored --warning=no-file-changed \
  --exclude './berth.db' --exclude './berth.db-*' --exclude './egress' --exclude './containers' . || [ $? -eq 1 ]
[ ! -e "$scratch/berth.db" ] || tar --append --file "$target.part" --directory "$scratch" --numeric-owner ./berth.db
mv "$target.part" "$target"
