import "../styles/editor/viewers.css";
import { useState } from "react";
import { useSandbox } from "../state/context.ts";
import { nameOf } from "../text/paths.ts";
import { NotShown } from "./not-shown.tsx";

// Plays sound and films. The browser requests the parts that it plays.
export default function MediaViewer({ path, kind, version }: { path: string; kind: "audio" | "video"; version: string }) {
  const { api } = useSandbox();
  const [failed, setFailed] = useState<string | null>(null);
  if (failed === version) return <NotShown path={path} text="The browser cannot play this format. Download it instead." />;
  const Player = kind;
  return (
    <div className="viewer media-view">
      <Player
        controls
        preload="metadata"
        aria-label={nameOf(path)}
        src={`${api.fileUrl(path)}&version=${encodeURIComponent(version)}`}
        onError={() => setFailed(version)}
      />
    </div>
  );
}
