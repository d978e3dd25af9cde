import { createApi } from "../connection/api.ts";
import { createPage } from "./page.ts";
import { createSandbox } from "./sandbox.ts";
import { createSession } from "./session.ts";
import { wireEvents } from "./wire-events.ts";

// Builds everything behind the page by hand: reading it shows the whole app.
export function createWorkspace(sandboxId: string) {
  const base = `/workspace/${sandboxId}/`;
  const api = createApi(base, { onSignedOut: () => onSignedOut() });
  const session = createSession(api);
  const page = createPage({ sandboxId, api, session });
  const sandbox = createSandbox({ api, page });
  const { onSignedOut } = wireEvents({ base, page, sandbox, session });
  return { page, sandbox, session };
}
