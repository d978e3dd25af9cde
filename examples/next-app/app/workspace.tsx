"use client";
import { useEffect, useRef } from "react";

// Shows the session in a frame, and resumes it when its user presses Resume.
export function Workspace({ berthUrl }: { berthUrl: string }) {
  const frame = useRef<HTMLIFrameElement>(null);
  useEffect(() => {
    const connected = import(/* webpackIgnore: true */ `${berthUrl}/workspace/embed.js`).then(({ connectWorkspace }) => {
      const workspace = connectWorkspace(frame.current, { canResume: true });
      workspace.on("needs-resume", () => fetch("/resume", { method: "POST" }).then(() => workspace.resumeDone()));
      return workspace;
    });
    return () => void connected.then((workspace) => workspace.disconnect());
  }, [berthUrl]);
  return (
    <iframe
      ref={frame}
      src="/workspace"
      title="Your workspace"
      allow="clipboard-read; clipboard-write; fullscreen"
      referrerPolicy="no-referrer"
    />
  );
}
