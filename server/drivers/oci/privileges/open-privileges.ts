import { findSubIds } from "../../host/rootless/sub-ids.ts";
import { delegatedGroup } from "../cgroups/delegated-group.ts";
import { asOrdinaryUser } from "./ordinary-user.ts";
import { asRoot, type Privileges } from "./privileges.ts";

// Finds out which privileges this process has. The function that it returns needs the real path of the data folder.
export async function findPrivileges(): Promise<(dataDir: string) => Privileges> {
  if (process.getuid?.() === 0) return () => asRoot;
  const [subIds, found] = [findSubIds(), await delegatedGroup()];
  return (dataDir) => asOrdinaryUser(dataDir, subIds, "group" in found ? found.group : undefined);
}
