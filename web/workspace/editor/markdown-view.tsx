import { useEffect, useState } from "react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { Markdown } from "../parts/markdown.tsx";

// Renders a Markdown file and follows the editor as the person types.
export default function MarkdownView({ path }: { path: string }) {
  const { documents } = useWorkspace();
  const file = useWorkspaceState("documents", (state) => state.files[path]);
  const [text, setText] = useState("");
  useEffect(() => {
    if (file?.kind === "text") setText(documents.textOf(path));
  }, [documents, path, file]);
  if (file?.kind === "failed") return <div className="empty">{file.message}</div>;
  return (
    <div className="markdown-view" tabIndex={0} role="document" aria-label={`Preview of ${path}`}>
      <Markdown text={text} />
    </div>
  );
}
