#!/bin/sh
# Copies a data folder while the server runs:
#   deploy/backup.sh /var/lib/berth /backups/berth.tar
# The database is copied first, in a consistent state. A sandbox that is created after that has no owner after a restore, and goes
# to quarantine. Paused sessions are copied exactly. Of running sessions, the backup contains what has been written to disk. See
# docs/backup.md.
set -eu
data=${1:?"usage: backup.sh DATA_FOLDER TARGET.tar"}
target=${2:?"usage: backup.sh DATA_FOLDER TARGET.tar"}
here=$(cd "$(dirname "$0")/.." && pwd)
node=$here/node_modules/.bin/node
[ -x "$node" ] || node=node

# The backup contains the master key and the files of all sessions.
umask 077
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM

if [ -e "$data/berth.db" ]; then
  "$node" -e '
    const { DatabaseSync } = require("node:sqlite");
    new DatabaseSync(process.argv[1]).prepare("VACUUM INTO ?").run(process.argv[2]);
  ' "$data/berth.db" "$scratch/berth.db"
fi
# Flush what sandboxes have written to the image files of their disks.
sync
# Disks are sparse image files. While a sandbox runs they are mounted, and only the file is copied. Sockets are skipped.
tar --create --file "$target.part" --directory "$data" --sparse --numeric-owner --one-file-system --warning=no-file-ignored --warning=no-file-changed \
  --exclude './berth.db' --exclude './berth.db-*' --exclude './disk-reserve' --exclude './canary' --exclude './egress' --exclude './images/drafts' --exclude './containers' . || [ $? -eq 1 ]
[ ! -e "$scratch/berth.db" ] || tar --append --file "$target.part" --directory "$scratch" --numeric-owner ./berth.db
mv "$target.part" "$target"
