import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createApi } from "./connection/api.ts";
import { refuseStrayFiles } from "./browser/file-drops.ts";
import { afterFirstScreen, afterFirstText } from "./browser/first-text.ts";
import { loadModule } from "./browser/load-module.ts";
import { prefetchSidePanels } from "./shell/side-panel.tsx";
import { App, EndedPage } from "./shell/app.tsx";
import { OpenDialogs } from "./shell/dialogs.tsx";
import { PausedOverlay } from "./shell/workbench.tsx";
import { ConflictBar } from "./editor/file-view.tsx";
import { NameField } from "./files/tree-row.tsx";
import { ActionsContext, createActions } from "./actions/actions.ts";
import { PageContext, SandboxContext, SessionContext } from "./state/context.ts";
import { createPage } from "./state/page.ts";
import { createSandbox } from "./state/sandbox.ts";
import { createSession } from "./state/session.ts";
import { wireEvents } from "./state/wire-events.ts";
import "./styles/index.css";

// Builds everything behind the page by hand: reading it shows the whole app.
const sandboxId = /^\/workspace\/([^/]+)\//.exec(location.pathname)?.[1] ?? "";
const base = `/workspace/${sandboxId}/`;
const api = createApi(base, { onSignedOut: () => onSignedOut() });
const session = createSession(api);
const page = createPage(sandboxId, api, session);
const sandbox = createSandbox(api, page);
const { onSignedOut } = wireEvents(base, page, sandbox, session);
const actions = createActions(page, sandbox);
const deps = { ...page, ...sandbox, ...session, ...actions, session };
refuseStrayFiles();
if (parent !== window)
  void loadModule(() => import("./embedding/partner-page.ts")).then(({ followPartnerPage }) => followPartnerPage(deps));

// Few sessions have an idle timeout.
let followsIdlePause = false;
const followIdlePause = () => {
  if (followsIdlePause || !session.mayEdit || !session.store.getState().session?.idlePause) return;
  followsIdlePause = true;
  void loadModule(() => import("./session/idle-pause.ts")).then((module) => module.followIdlePause(deps));
};
followIdlePause();
session.store.subscribe(followIdlePause);
if (session.mayEdit && session.store.getState().session?.source)
  void loadModule(() => import("./session/source-notice.ts")).then((module) => module.followSource(deps));

const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <StrictMode>
      <SessionContext value={session}>
        <PageContext value={page}>
          <SandboxContext value={sandbox}>
            <ActionsContext value={actions}>
              <App />
            </ActionsContext>
          </SandboxContext>
        </PageContext>
      </SessionContext>
    </StrictMode>,
  );

// Nearly every visit needs the editor, so it loads before there is a text for it. The text is requested first, so that it
// arrives while the browser is busy with the editor.
void Promise.race([sandbox.initialRequest, new Promise((resolve) => setTimeout(resolve, 100))])
  .then(() => loadModule(() => import("./editor/text-editor.tsx")))
  .then(afterFirstText)
  .then(() => {
    // Small parts that must appear at once, or without a connection to the server.
    for (const part of [OpenDialogs, NameField, ConflictBar, PausedOverlay, EndedPage]) part.prefetch().catch(() => {});
    void import("./together/start.ts").then(({ startTogether }) => startTogether(deps)).catch(() => {});
  })
  .then(afterFirstScreen)
  .then(() => {
    setTimeout(() => void prefetchSidePanels(), 500);
    void import("./editor/language/background-tabs.ts").then(({ openBackgroundTabs }) => openBackgroundTabs(deps)).catch(() => {});
  });
