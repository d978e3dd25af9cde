import { join } from "node:path";
import { plainRunner, type FileRunner } from "../../host/file-runner.ts";
import { createNamedVolumes, type NamedVolumes } from "../../host/named-volumes/named-volumes.ts";
import { cgroupPrefix, openCgroups, type Cgroups } from "../cgroups/cgroups.ts";
import type { OnExceeded } from "../processes/usage-watch.ts";
import { PAIRS_OF_ROOT, USER, type IdScheme, type UserIds } from "../users/user-ids.ts";
import { openUserNamespace, type UserNamespace } from "../users/user-namespace.ts";

// The driver's rights on this machine, and how it uses them. Root maps any ids, mounts disks and limits control groups;
// ordinary-user.ts describes what other users can do instead.
export interface Privileges extends AsyncDisposable {
  // Changes the files of sandboxes.
  readonly files: FileRunner;
  readonly ids: IdScheme;
  // The id of the user inside a sandbox.
  readonly user: number;
  // Sandboxes build images. See BundleOptions.
  readonly builds?: boolean;
  // Where the root folders that sandboxes share are. The root user of every sandbox must be able to reach it.
  readonly rootsDir: string;
  openUserNamespace(ids: UserIds, signal: AbortSignal): Promise<UserNamespace>;
  // Limits, freezes and ends the processes of sandboxes. `stateDir` is the runtime's.
  openGroups(options: GroupsOptions): Cgroups;
  // Whether the groups measure the files of each sandbox, because its disk has no limit.
  readonly measuresDisks: boolean;
  openVolumes(options: { dataDir: string; bounded: boolean }): NamedVolumes;
}

export interface GroupsOptions {
  dataDir: string;
  stateDir: string;
  onExceeded: OnExceeded;
}

export const ROOTS_OF_ROOT = "/run/berth/roots";

export const asRoot: Privileges = {
  files: plainRunner,
  ids: PAIRS_OF_ROOT,
  user: USER,
  rootsDir: ROOTS_OF_ROOT,
  openUserNamespace,
  measuresDisks: false,
  openGroups: ({ dataDir }) => openCgroups(cgroupPrefix(dataDir)),
  openVolumes: ({ dataDir, bounded }) => createNamedVolumes({ folder: join(dataDir, "volumes"), bounded }),
  async [Symbol.asyncDispose]() {},
};

// For sandboxes that build images (server/builds/).
export const asBuilder: Privileges = { ...asRoot, builds: true };
