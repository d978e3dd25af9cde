import type { ProcessLimits } from "../../host/isolation/host-limits.ts";
import type { Privileges } from "./privileges.ts";
import { diskMappings, pairMappings, rangeMappings, type IdMappings, type InsideUser } from "../users/id-mappings.ts";
import type { UserIds } from "../users/user-ids.ts";
import { openUserNamespace, type UserNamespace } from "../users/user-namespace.ts";

// The user namespaces of one start of a sandbox. All but `programs` only tell the kernel which owners the files of a mount have.
export interface SandboxNamespaces extends AsyncDisposable {
  // The namespace of the sandbox's programs.
  programs: UserNamespace;
  // For volumes, which belong to the usual user on disk.
  volumes: UserNamespace;
  // For workspace and home. Absent: the files have the ids of the host.
  disk: UserNamespace | undefined;
}

export interface NamespaceNeeds {
  ids: UserIds;
  user: InsideUser;
  // The first id of the sandbox's range, if it has one.
  first: number | undefined;
  // The limits of the sandbox's user, or of all users of its range together.
  limits: ProcessLimits;
  hasVolumes: boolean;
}

type Users = Pick<NamespaceNeeds, "ids" | "user" | "first">;

export const mappingsOf = ({ ids, user, first }: Users): IdMappings =>
  first === undefined ? pairMappings({ ...ids, inside: user.uid }) : rangeMappings(ids, first, user);

export async function openNamespaces(privileges: Privileges, needs: NamespaceNeeds, signal: AbortSignal): Promise<SandboxNamespaces> {
  const { ids, user, first, limits, hasVolumes } = needs;
  const opened = await Promise.allSettled([
    first === undefined
      ? privileges.openUserNamespace({ ...ids, inside: user.uid }, signal)
      : openUserNamespace(ids, signal, { mappings: mappingsOf(needs), limits }),
    first === undefined ? undefined : openUserNamespace(ids, signal, { mappings: diskMappings(ids, first, user) }),
    hasVolumes && user.uid !== privileges.user ? privileges.openUserNamespace(ids, signal) : undefined,
  ]);
  await using stack = new AsyncDisposableStack();
  for (const each of opened) if (each.status === "fulfilled") stack.use(each.value);
  const [programs, disk, volumes] = opened.map((each) => {
    if (each.status === "rejected") throw each.reason;
    return each.value;
  });
  const held = stack.move();
  return { programs: programs!, disk, volumes: volumes ?? programs!, [Symbol.asyncDispose]: () => held.disposeAsync() };
}
