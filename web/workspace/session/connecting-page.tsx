import { useEffect, useState } from "react";

export function ConnectingPage() {
  const slow = useElapsed(4000);
  return (
    <main className="page" aria-busy="true">
      <div className="empty" role="status">
        <div className="spinner" />
        <p>{slow ? "Still connecting. This page keeps trying." : "Opening your workspace…"}</p>
      </div>
    </main>
  );
}

function useElapsed(afterMs: number): boolean {
  const [elapsed, setElapsed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setElapsed(true), afterMs);
    return () => clearTimeout(timer);
  }, [afterMs]);
  return elapsed;
}
