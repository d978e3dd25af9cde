import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { WorkspaceContext } from "./state/context.ts";
import { loadPart } from "./browser/load-module.ts";
import { App } from "./shell/app.tsx";
import "./styles/index.css";
import { createWorkspace } from "./state/workspace.ts";

const sandboxId = /^\/workspace\/([^/]+)\//.exec(location.pathname)?.[1] ?? "";
const workspace = createWorkspace(sandboxId);
const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <StrictMode>
      <WorkspaceContext value={workspace}>
        <App />
      </WorkspaceContext>
    </StrictMode>,
  );

// Nearly every visit needs the editor, so it starts before there is a text for it. But the text is asked for first: it is on
// its way while the browser is busy with the editor.
void Promise.race([workspace.firstAsked, new Promise((resolve) => setTimeout(resolve, 100))]).then(() =>
  loadPart(() => import("./editor/text-editor.tsx")),
);
