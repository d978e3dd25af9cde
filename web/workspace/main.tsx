import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { WorkspaceContext } from "./context.ts";
import { App } from "./shell/app.tsx";
import "./styles/index.css";
import { createWorkspace } from "./workspace.ts";

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

// Nearly every visit needs the editor, so it is on its way while the page is still finding out how the session is.
void import("./editor/text-editor.tsx");
