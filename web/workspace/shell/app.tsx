import { lazyPart } from "../browser/lazy-part.ts";
import { ConnectingPage } from "../session/connecting-page.tsx";
import { useSessionState } from "../state/context.ts";
import { Workbench } from "./workbench.tsx";

export const EndedPage = lazyPart(() => import("../session/ended-page.tsx"));

export function App() {
  const phase = useSessionState((state) => state.phase);
  if (phase === "connecting") return <ConnectingPage />;
  if (phase === "destroyed" || phase === "signedOut") return <EndedPage phase={phase} />;
  // A paused session keeps the page under an overlay, so that unsaved text and scroll positions survive.
  return <Workbench />;
}
