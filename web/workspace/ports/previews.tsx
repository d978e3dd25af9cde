import { lazy, Suspense, useState } from "react";
import { loadModule } from "../browser/load-module.ts";

const PreviewView = lazy(() => loadModule(() => import("./preview-view.tsx")));

// The open previews, of which at most one is shown. A frame reloads when it is removed from the page, so a preview that was
// shown once stays until its tab is closed.
export function Previews({ ports, shown }: { ports: number[]; shown: number | null }) {
  const [visited, setVisited] = useState<number[]>([]);
  if (shown !== null && !visited.includes(shown)) setVisited([...visited, shown]);
  const kept = visited.filter((port) => ports.includes(port));
  return (
    <Suspense fallback={<div className="loading-center" aria-busy="true" />}>
      {kept.map((port) => (
        <PreviewView key={port} port={port} shown={port === shown} />
      ))}
    </Suspense>
  );
}
