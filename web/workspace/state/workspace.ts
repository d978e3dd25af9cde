import type { SandboxEvent } from "@berth/contract/daemon.ts";
import { createAgent } from "./sandbox/agent.ts";
import { createApi } from "../connection/api.ts";
import { createLines } from "../connection/connections.ts";
import { followSession } from "../connection/session-stream.ts";
import { connectSocket } from "../connection/socket.ts";
import { createCursor } from "./page/cursor.ts";
import { createDocuments } from "./documents/documents.ts";
import { openDrafts } from "./documents/drafts.ts";
import { createFiles } from "./sandbox/files.ts";
import { createDialogs } from "./page/dialogs.ts";
import { createNotices } from "./page/notices.ts";
import { openFirst } from "./initial-load.ts";
import { createPalette } from "./page/palette.ts";
import { createPorts } from "./sandbox/ports.ts";
import { sessionInPage } from "./sandbox/embedded-session.ts";
import { createSessionStore } from "./sandbox/session.ts";
import { createLayout } from "./page/layout.ts";
import { createPreferences } from "./page/preferences.ts";
import { createTerminals } from "./sandbox/terminals.ts";

export type Workspace = ReturnType<typeof createWorkspace>;

// Everything behind the page, built by hand: read this and you have seen the app.
export function createWorkspace(sandboxId: string) {
  const base = `/workspace/${sandboxId}/`;
  const api = createApi(base);
  const notices = createNotices();
  const dialogs = createDialogs();
  const preferences = createPreferences();
  const layout = createLayout(sandboxId);
  const session = createSessionStore();
  const inPage = sessionInPage();
  if (inPage) session.heard(inPage);
  const files = createFiles(api);
  const documents = createDocuments({ api, notices, drafts: openDrafts(sandboxId), autosave: () => preferences.store.getState().autosave });
  const terminals = createTerminals({ api, layout, notices });
  const ports = createPorts(api);
  const agent = createAgent({ api, notices });
  const palette = createPalette();
  const cursor = createCursor();

  // What is seen first is asked for at once, before it is known how the session is; the rest follows.
  const firstAsked = openFirst({ files, layout, documents });

  let greeted = false;
  let hadTerminal = Promise.resolve(false);
  const events = connectSocket({
    url: () => api.socketUrl("events"),
    onText: (text) => hear(JSON.parse(text) as SandboxEvent),
    onDown: () => session.lost("eventsLost", true),
  });
  const stream = followSession({
    url: `${base}session/stream`,
    onSession: (heard) => {
      const before = session.store.getState();
      session.heard(heard);
      if (heard.status !== "running") return;
      if (before.phase === "running" && before.streamLost) lines.renew();
      // Also when it seems to have been running all the time: a short pause may have closed lines and not been told.
      lines.prod();
    },
    onDown: () => session.lost("streamLost", true),
    onSignedOut: () => session.ended("signedOut"),
    onGone: () => session.ended("destroyed"),
  });

  const lines = createLines([events, agent]);
  const wake = () => {
    stream.prod();
    lines.prod();
  };
  addEventListener("online", wake);
  document.addEventListener("visibilitychange", () => (document.hidden ? documents.keepDrafts() : wake()));
  addEventListener("pagehide", documents.keepDrafts);

  function hear(event: SandboxEvent): void {
    if (event.type === "hello") return greet(event);
    if (event.type === "terminals") return terminals.heard(event.terminals);
    if (event.type === "ports") return ports.heard(event.ports);
    if (event.type === "agent") return agent.stateHeard(event.agent);
    if (event.overflow) return void resync();
    const paths = event.changes.map(({ path }) => path);
    files.changed(paths);
    documents.changed(paths);
  }

  function greet(event: SandboxEvent & { type: "hello" }): void {
    session.lost("eventsLost", false);
    terminals.heard(event.terminals);
    ports.heard(event.ports);
    agent.stateHeard(event.agent);
    if (greeted) void resync();
    // What was asked for while the session was still paused was refused then.
    else void openFirst({ files, layout, documents });
    greeted = true;
    // A first look at an empty workspace already has a terminal to type into; if a pause came between, the second one has.
    const isWanted = event.terminals.length === 0 && layout.store.getState().terminalsOpen;
    hadTerminal = hadTerminal.then(async (had) => had || !isWanted || (await terminals.begin()) !== null);
  }

  async function resync(): Promise<void> {
    await Promise.all([files.reloadAll(), documents.resync()]);
  }

  return {
    sandboxId,
    api,
    notices,
    dialogs,
    preferences,
    layout,
    session,
    files,
    documents,
    terminals,
    ports,
    agent,
    palette,
    cursor,
    lines,
    // Resolves when the text that is seen first has been asked for.
    firstAsked,
  };
}
