import { asOrdinaryUser } from "./ordinary-user.ts";
import { asRoot, type Privileges } from "./privileges.ts";

// The privileges of this process. `dataDir` is a real path.
export const openPrivileges = (dataDir: string): Privileges => (process.getuid?.() === 0 ? asRoot : asOrdinaryUser(dataDir));
