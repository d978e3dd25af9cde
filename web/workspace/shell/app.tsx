import { useWorkspaceState } from "../state/context.ts";
import { ConnectingPage, FarewellPage } from "../session/pages.tsx";
import { Workbench } from "./workbench.tsx";

export function App() {
  const phase = useWorkspaceState("session", (state) => state.phase);
  if (phase === "connecting") return <ConnectingPage />;
  if (phase === "destroyed" || phase === "signedOut") return <FarewellPage phase={phase} />;
  // A paused session keeps the page as it is, under a veil: unsaved text and scroll positions stay.
  return <Workbench />;
}
