import { useState } from "react";
import { PreviewView } from "./preview-view.tsx";

// The open previews, of which at most one is shown. A frame reloads when it is removed from the page, so a preview that was
// shown once stays until its tab is closed.
export function Previews({ ports, shown }: { ports: number[]; shown: number | null }) {
  const [visited, setVisited] = useState<number[]>([]);
  if (shown !== null && !visited.includes(shown)) setVisited([...visited, shown]);
  return visited.filter((port) => ports.includes(port)).map((port) => <PreviewView key={port} port={port} shown={port === shown} />);
}
