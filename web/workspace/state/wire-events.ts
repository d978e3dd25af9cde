import type { PortList, SandboxEvent } from "@berth/contract/daemon.ts";
import { afterFirstText } from "../browser/first-text.ts";
import { followSession } from "../connection/session-stream.ts";
import { connectSocket } from "../connection/socket.ts";
import { applyAccent } from "./accent.ts";
import type { Page } from "./page.ts";
import { loadInitialView, type Sandbox } from "./sandbox.ts";
import type { Session } from "./session.ts";
import { createSettingsSync } from "./settings/sync.ts";

// Connects the three parts of the state with each other, the sandbox's events, the session's stream and the browser.
export function wireEvents(base: string, page: Page, sandbox: Sandbox, session: Session): { onSignedOut: () => void } {
  const { documents, layout, notices, preferences } = page;
  const { api, agentLink, connections, files, git, languages, ports, terminals } = sandbox;
  const { mayEdit } = session;
  let wasConnected = false;
  let hadTerminal = Promise.resolve(false);
  let resync: Promise<void> | null = null;

  if (mayEdit) {
    const { values, show, unwritten } = preferences;
    const settingsSync = createSettingsSync({ read: api.readSettings, write: api.writeSettings, values, show, unwritten });
    preferences.onChanged(settingsSync.changed);
    void settingsSync.pull();
  }
  applyAccent(session, page);
  // A file with unsaved text keeps its tab, whether the text was typed just now or restored from a draft.
  documents.store.subscribe(() => {
    for (const { tabs, temporaryTab } of layout.store.getState().groups) {
      const tab = tabs.find(({ id }) => id === temporaryTab);
      if (tab?.kind === "file" && documents.documentAt(tab.path)?.edited) layout.keepTab(tab.id);
    }
  });
  preferences.store.subscribe((now, before) => {
    if (now.autosave && !before.autosave) documents.autosaveAll();
  });

  const events = connectSocket({
    url: () => api.socketUrl("events"),
    onText: (text) => receive(JSON.parse(text) as SandboxEvent),
    onDisconnected: session.eventsDisconnected,
  });
  connections.add(events);
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

  const retryNow = () => {
    stream.retryNow();
    connections.retryNow();
  };
  addEventListener("online", retryNow);
  document.addEventListener("visibilitychange", () => (document.hidden ? documents.keepDrafts() : retryNow()));
  // Phones fire only pagehide. Elsewhere, beforeunload leaves more time for the write.
  for (const leaving of ["beforeunload", "pagehide"]) addEventListener(leaving, documents.keepDrafts);
  return { onSignedOut };

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
    if (event.type === "settings") return preferences.showRepository(event.settings);
    if (event.type === "agent") return agentLink.update(event.agent);
    if (event.overflow) return resyncSoon();
    files.changed(event.changes);
    documents.changed(event.changes.map(({ path }) => path));
    git.changed();
    languages.filesChanged(event.changes);
  }

  function onHello(event: SandboxEvent & { type: "hello" }): void {
    session.eventsConnected();
    terminals.update(event.terminals);
    ports.update(event);
    preferences.showRepository(event.settings);
    agentLink.update(event.agent);
    // The first requests failed if the session was paused at that time.
    if (!wasConnected) void loadInitialView(files, page);
    // Changes before this message were not reported.
    resyncSoon();
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

  // The files of a page that is just opening were read a moment ago, so its first text comes first.
  function resyncSoon(): void {
    resync ??= afterFirstText().then(() => {
      resync = null;
      return readAgain();
    });
  }

  async function readAgain(): Promise<void> {
    git.changed();
    await Promise.all([files.reloadAll(), documents.resync()]);
  }
}
