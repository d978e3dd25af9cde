import type { Api } from "../connection/api.ts";
import { createConnections } from "../connection/connections.ts";
import { createGit } from "./git/git.ts";
import { loadInitialView } from "./initial-load.ts";
import type { Page } from "./page.ts";
import { createAgentLink } from "./sandbox/agent-link.ts";
import { createFiles } from "./sandbox/files.ts";
import { createLanguages } from "./sandbox/languages.ts";
import { createPorts } from "./sandbox/ports.ts";
import { createSearch } from "./sandbox/search.ts";
import { createTerminals } from "./terminals/terminals.ts";
import { createTogether } from "./together/together.ts";

export type Sandbox = ReturnType<typeof createSandbox>;

// What the sandbox reports and does over its connections.
export function createSandbox(api: Api, { documents, layout, notices }: Pick<Page, "documents" | "layout" | "notices">) {
  const files = createFiles(api);
  const agentLink = createAgentLink();
  return {
    api,
    connections: createConnections([agentLink]),
    files,
    agentLink,
    terminals: createTerminals({ api, layout, notices }),
    ports: createPorts(api),
    search: createSearch(api),
    languages: createLanguages(),
    git: createGit(api),
    together: createTogether(),
    // Resolves when the file that is shown first has been requested. That happens at once, before the session's state is known.
    initialRequest: loadInitialView(files, { documents, layout }),
  };
}
