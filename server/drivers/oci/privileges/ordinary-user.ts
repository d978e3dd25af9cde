import { randomInt } from "node:crypto";
import { basename, join } from "node:path";
import { AppError } from "@berth/contract";
import { readFileIfReadable } from "../../../bounded-io/read-small-file.ts";
import { SHARE_OF_USER } from "../../host/isolation/host-limits.ts";
import { createFolderVolumes } from "../../host/named-volumes/folder-volumes.ts";
import { commandInside, holdNamespace, type MappedRange } from "../../host/rootless/map-namespace.ts";
import { createNamespaceRunner } from "../../host/rootless/namespace-runner.ts";
import { type FoundSubIds, type SubIds } from "../../host/rootless/sub-ids.ts";
import type { DelegatedGroup } from "../cgroups/delegated-group.ts";
import { openUserGroups } from "../processes/user-groups.ts";
import { watchUsage } from "../processes/usage-watch.ts";
import { USER, type IdScheme } from "../users/user-ids.ts";
import type { Privileges } from "./privileges.ts";

// The server's own programs come first when the processors are busy.
const NICENESS = "5";
// The kernel counts these for the user who has created a user namespace, too, which is the same for all sandboxes.
const SHARED_COUNTS = { max_inotify_instances: "max_user_instances", max_inotify_watches: "max_user_watches" };
const SCRIPT = `while [ "$1" != -- ]; do echo "$2" > "/proc/sys/user/$1"; shift 2; done; shift; exec nice -n ${NICENESS} "$@"`;

// The driver reads runc's own state (processes/process-groups.ts), and gVisor needs mounts.
export const worksWithoutRoot = (runtime: string): boolean => basename(runtime) === "runc";

// Sandboxes of a server that does not run as root. Their root user is the server's user, and the runtime runs in their user namespace.
// With sub-ids, each sandbox's user is a user of the host of its own; otherwise it is the server's user too, and has the number 0
// inside, because a runtime needs that number.
export function asOrdinaryUser(dataDir: string, found: FoundSubIds, delegated?: DelegatedGroup): Privileges {
  const subIds = "ids" in found ? found.ids : undefined;
  const self = process.getuid?.() ?? 0;
  const files = createNamespaceRunner(subIds);
  return {
    files,
    ids: subIds ? oneSubIdEach(subIds, self) : { pick: () => self, idsOf: () => ({ root: self, user: self }) },
    user: subIds ? USER : 0,
    rootsDir: join(dataDir, "roots"),
    async openUserNamespace({ user, inside = USER }, signal) {
      const ranges: MappedRange[] = [{ inside: 0, of: "self" }];
      if (subIds) ranges.push({ inside, of: { index: user - subIds.uids.first, count: 1 } });
      const held = await holdNamespace(ranges, subIds, signal);
      return {
        path: `/proc/${held.pid}/ns/user`,
        enter: (command, args) => commandInside(held.pid, subIds, "sh", ["-c", SCRIPT, "sh", ...shares(), "--", command, ...args]),
        [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
      };
    },
    measuresDisks: true,
    openGroups({ onExceeded, ...folders }) {
      const groups = openUserGroups({ ...folders, delegated });
      const watch = watchUsage({ sandboxesDir: join(folders.dataDir, "sandboxes"), groups, files, onExceeded });
      return { ...groups, [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose]() };
    },
    openVolumes: (options) => createFolderVolumes({ folder: join(options.dataDir, "volumes"), files }),
    [Symbol.asyncDispose]: () => files[Symbol.asyncDispose](),
  };
}

// The limits of one sandbox's namespace, as arguments of the script.
const shares = (): string[] =>
  Object.entries(SHARED_COUNTS).flatMap(([name, setting]) => {
    const total = Number(readFileIfReadable(`/proc/sys/fs/inotify/${setting}`));
    return total > 0 ? [name, String(Math.ceil(total * SHARE_OF_USER))] : [];
  });

// The first sub-id is for all sandboxes that mount volumes, because a server without root cannot show files with other owners. The
// others are picked at random: other programs of this user, such as Podman, use the same range.
function oneSubIdEach({ uids, count }: SubIds, self: number): IdScheme {
  return {
    pick(taken, { sharesFiles }) {
      if (sharesFiles) return uids.first;
      if (taken.size >= count - 1) throw new AppError("capacity_reached", { cause: new Error("all ids of /etc/subuid are taken") });
      for (;;) {
        const id = uids.first + 1 + randomInt(count - 1);
        if (!taken.has(id)) return id;
      }
    },
    idsOf: (user) => ({ root: self, user }),
  };
}
