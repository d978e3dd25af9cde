import type { Api } from "../connection/api.ts";
import { createConnections } from "../connection/connections.ts";
import { createGit } from "./git/git.ts";
import type { Page } from "./page.ts";
import { createAgentLink } from "./sandbox/agent-link.ts";
import { createFiles, type Files } from "./sandbox/files.ts";
import { createLanguages } from "./sandbox/languages.ts";
import { createPorts } from "./sandbox/ports.ts";
import { createSearch } from "./sandbox/search.ts";
import { activeTabIn } from "./tabs/editor-group.ts";
import { openTabs } from "./tabs/editor-groups.ts";
import { fileTab } from "./tabs/tab.ts";
import { createTerminals } from "./terminals/terminals.ts";
import { createTogether } from "./together/together.ts";

export type Sandbox = ReturnType<typeof createSandbox>;

// The state of the sandbox, and the calls to it.
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

// Reads the first visible data: the top folder and the file in each active tab. On a first visit that file is the README.
export async function loadInitialView(files: Files, { documents, layout }: Pick<Page, "documents" | "layout">): Promise<void> {
  const { groups, visited } = layout.store.getState();
  layout.set({ visited: true });
  for (const shown of groups.map(activeTabIn)) if (shown && "path" in shown) void documents.open(shown.path);
  await files.ensure("");
  if (visited || openTabs(layout.store.getState()).length > 0) return;
  const readme = files.store.getState().folders[""]?.find(({ name }) => /^readme(\.md|\.txt)?$/i.test(name));
  if (!readme) return;
  layout.openTab(fileTab(readme.name));
  void documents.open(readme.name);
}
