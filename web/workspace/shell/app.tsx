import { useWorkspaceState } from "../state/context.ts";
import { ConnectingPage, EndedPage } from "../session/pages.tsx";
import { Workbench } from "./workbench.tsx";

export function App() {
  const phase = useWorkspaceState("session", (state) => state.phase);
  if (phase === "connecting") return <ConnectingPage />;
  if (phase === "destroyed" || phase === "signedOut") return <EndedPage phase={phase} />;
  // A paused session keeps the page under an overlay, so that unsaved text and scroll positions survive.
  return <Workbench />;
}
