import type { PortList, SandboxEvent } from "@berth/contract/daemon.ts";
import { createApi } from "../connection/api.ts";
import { createConnections } from "../connection/connections.ts";
import { followSession } from "../connection/session-stream.ts";
import { connectSocket } from "../connection/socket.ts";
import { applyAccent } from "./apply-accent.ts";
import { keepEditedTab } from "./keep-edited-tab.ts";
import { createDocuments } from "./documents/documents.ts";
import { noDrafts, openDrafts } from "./documents/drafts.ts";
import { createFormatter } from "./formatter.ts";
import { createReplacements } from "./replace/replacements.ts";
import { loadInitialView } from "./initial-load.ts";
import { createActiveEditor } from "./tabs/active-editor.ts";
import { createCursor } from "./tabs/cursor.ts";
import type { Places } from "./tabs/places.ts";
import { createDialogs } from "./page/dialogs.ts";
import { createEmbedding } from "./page/embedding.ts";
import { createFileHistory } from "./page/file-history.ts";
import { createFocusRequest } from "./page/focus-request.ts";
import { createLayout } from "./page/layout.ts";
import { createNotices } from "./page/notices.ts";
import { createPalette } from "./page/palette.ts";
import { createPicker } from "./page/picker.ts";
import { createPreferences } from "./page/preferences.ts";
import { createTabDrag } from "./tabs/tab-drag.ts";
import { createTransfers } from "./page/transfers.ts";
import { createTree } from "./page/tree.ts";
import { createSettingsSync } from "./settings/sync.ts";
import { createAgentLink } from "./sandbox/agent-link.ts";
import { readEmbeddedSession } from "./sandbox/embedded-session.ts";
import { createFiles } from "./sandbox/files.ts";
import { createGit } from "./git/git.ts";
import { createLanguages } from "./sandbox/languages.ts";
import { createPorts } from "./sandbox/ports.ts";
import { createResume, resumeWhenSeen } from "./sandbox/resume.ts";
import { createSearch } from "./sandbox/search.ts";
import { createSessionStore } from "./sandbox/session.ts";
import { createTogether } from "./together/together.ts";
import { createTerminals } from "./terminals/terminals.ts";

export type Workspace = ReturnType<typeof createWorkspace>;

// Builds everything behind the page by hand: reading it shows the whole app.
export function createWorkspace(sandboxId: string) {
  const base = `/workspace/${sandboxId}/`;
  const api = createApi(base, { onSignedOut });
  const notices = createNotices();
  const dialogs = createDialogs();
  const embedding = createEmbedding();
  const layout = createLayout(sandboxId);
  const session = createSessionStore();
  const embedded = readEmbeddedSession();
  if (embedded) session.update(embedded);
  // A viewer changes nothing. The server and the daemon enforce it; the page only leaves out what would be refused.
  const mayEdit = embedded?.visitor.role !== "viewer";
  const resume = createResume({ resume: api.resume, onSession: session.update });
  if (mayEdit && embedded?.status === "paused" && embedded.autoResume) resumeWhenSeen(resume);
  const preferences = createPreferences((mayEdit && embedded?.settingsOwner) || "unknown");
  const settingsSync = createSettingsSync({
    read: api.readSettings,
    write: api.writeSettings,
    values: preferences.values,
    show: preferences.show,
    unwritten: preferences.unwritten,
  });
  // The settings on the server are those of the user whom the session belongs to.
  if (mayEdit) {
    preferences.onChanged(settingsSync.changed);
    void settingsSync.pull();
  }
  applyAccent({ session, preferences });
  const files = createFiles(api);
  const documents = createDocuments({
    api,
    notices,
    drafts: mayEdit ? openDrafts(sandboxId) : noDrafts,
    autosave: () => mayEdit && preferences.store.getState().autosave,
    autosaveAfterMs: () => preferences.store.getState().autosaveDelayMs,
  });
  const terminals = createTerminals({ api, layout, notices });
  const ports = createPorts(api);
  const search = createSearch(api);
  const replacements = createReplacements();
  const languages = createLanguages();
  const agentLink = createAgentLink();
  const git = createGit(api);
  const palette = createPalette();
  const picker = createPicker();
  const cursor = createCursor();
  const activeEditor = createActiveEditor();
  // The places in files that the person has been at. The rules are in places.ts, which loads with the commands.
  const places: Places = { all: [], at: -1 };
  const formatter = createFormatter();
  const focusRequest = createFocusRequest();
  const tree = createTree();
  const tabDrag = createTabDrag();
  const fileHistory = createFileHistory();
  const together = createTogether();
  const transfers = createTransfers();

  keepEditedTab({ layout, documents });
  preferences.store.subscribe((now, before) => {
    if (now.autosave && !before.autosave) documents.autosaveAll();
  });

  // The first visible data is requested at once, before the session's state is known.
  const initialRequest = loadInitialView({ files, layout, documents });

  let wasConnected = false;
  let hadTerminal = Promise.resolve(false);
  const events = connectSocket({
    url: () => api.socketUrl("events"),
    onText: (text) => receive(JSON.parse(text) as SandboxEvent),
    onDisconnected: session.eventsDisconnected,
  });
  const stream = followSession({
    url: `${base}session/stream`,
    onSession: (updated) => {
      const before = session.store.getState();
      session.update(updated);
      if (updated.status !== "running") return;
      if (before.phase === "running" && before.streamLost) connections.reconnect();
      // Even if the session seems to have run all the time: a short pause may have closed connections unnoticed.
      connections.retryNow();
    },
    onDisconnected: session.streamDisconnected,
    onSignedOut,
    onGone: () => session.end("destroyed"),
  });

  const connections = createConnections([events, agentLink]);
  const retryNow = () => {
    stream.retryNow();
    connections.retryNow();
  };
  addEventListener("online", retryNow);
  document.addEventListener("visibilitychange", () => (document.hidden ? documents.keepDrafts() : retryNow()));
  // Phones fire only pagehide. Elsewhere, beforeunload leaves more time for the write.
  for (const leaving of ["beforeunload", "pagehide"]) addEventListener(leaving, documents.keepDrafts);

  // The stream may have been opened while the cookie was valid, so its next message would open the page again.
  function onSignedOut(): void {
    stream[Symbol.dispose]();
    documents.keepDrafts();
    session.end("signedOut");
  }

  function receive(event: SandboxEvent): void {
    if (event.type === "hello") return onHello(event);
    if (event.type === "terminals") return terminals.update(event.terminals);
    if (event.type === "ports") return onPorts(event);
    if (event.type === "agent") return agentLink.update(event.agent);
    if (event.overflow) return void resync();
    files.changed(event.changes);
    documents.changed(event.changes.map(({ path }) => path));
    git.changed();
    languages.filesChanged(event.changes);
  }

  function onHello(event: SandboxEvent & { type: "hello" }): void {
    session.eventsConnected();
    terminals.update(event.terminals);
    ports.update(event);
    agentLink.update(event.agent);
    // The first requests failed if the session was paused at that time.
    if (!wasConnected) void loadInitialView({ files, layout, documents });
    // Changes before this message were not reported.
    void resync();
    wasConnected = true;
    // The first visit to an empty workspace opens a terminal. If a pause prevented that, the next connection opens it.
    const isWanted = mayEdit && event.terminals.length === 0 && layout.store.getState().terminalsOpen;
    hadTerminal = hadTerminal.then(async (had) => had || !isWanted || (await terminals.createUnfocused()) !== null);
  }

  function onPorts(list: PortList): void {
    const added = ports.update(list);
    if (!mayEdit) return;
    for (const { port, program } of added)
      notices.offer(`${ports.labelOf(port) ?? program ?? "A program"} listens on port ${port}.`, {
        label: "Open",
        run: () => layout.openPreviewBeside(port),
      });
  }

  async function resync(): Promise<void> {
    git.changed();
    await Promise.all([files.reloadAll(), documents.resync()]);
  }

  return {
    sandboxId,
    mayEdit,
    api,
    notices,
    dialogs,
    embedding,
    preferences,
    layout,
    session,
    resume,
    files,
    documents,
    terminals,
    ports,
    search,
    replacements,
    languages,
    agentLink,
    git,
    palette,
    picker,
    cursor,
    activeEditor,
    places,
    formatter,
    focusRequest,
    tree,
    tabDrag,
    fileHistory,
    together,
    transfers,
    connections,
    // Resolves when the file that is shown first has been requested.
    initialRequest,
  };
}
