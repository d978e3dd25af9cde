import { AppError } from "@berth/contract/errors.ts";
import { badRequest } from "../http/errors.ts";
import { isViewer } from "../http/viewers.ts";
import type { Call } from "../http/route.ts";
import { openSandboxFolder, type WorkspaceFolder } from "./workspace-folder.ts";

// Where the paths of a request begin.
export interface Bases {
  readonly workspace: WorkspaceFolder;
  of(call: Pick<Call, "request" | "query">): WorkspaceFolder;
}

export function createBases({ workspace, home }: { workspace: WorkspaceFolder; home: string }): Bases {
  const sandbox = openSandboxFolder(home);
  return {
    workspace,
    of({ request, query }) {
      const base = query.get("base") ?? "workspace";
      if (base === "workspace") return workspace;
      if (base !== "home") throw badRequest("base must be workspace or home");
      // Viewers see the workspace, and nothing else of the sandbox.
      if (isViewer(request)) throw new AppError("view_only");
      return sandbox;
    },
  };
}
