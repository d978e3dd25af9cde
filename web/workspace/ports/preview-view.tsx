import { ExternalLink, RotateCw } from "lucide-react";
import { useCallback, useEffect, useState, type FormEvent } from "react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { describeError } from "../state/page/notices.ts";

// A port of the sandbox in a frame. Its origin differs from this page's, so it cannot read anything here.
export function PreviewView({ port }: { port: number }) {
  const { ports, notices } = useWorkspace();
  const requested = useWorkspaceState("ports", (state) => state.previews[port]);
  const [path, setPath] = useState("/");
  const [shown, setShown] = useState<{ url: string; count: number } | null>(null);
  const [error, setError] = useState<string | null>(null);

  const load = useCallback(
    async (to: string) => {
      try {
        const url = await ports.previewUrl(port, to);
        setShown((before) => ({ url, count: (before?.count ?? 0) + 1 }));
        setError(null);
      } catch (thrown) {
        setError(describeError(thrown));
      }
    },
    [ports, port],
  );
  useEffect(() => {
    setPath(requested?.path ?? "/");
    void load(requested?.path ?? "/");
  }, [load, requested]);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    void load(path.startsWith("/") ? path : `/${path}`);
  };

  return (
    <div className="preview">
      <form className="preview-bar" onSubmit={submit}>
        <IconButton label="Reload" onClick={() => void load(path)}>
          <RotateCw size={14} />
        </IconButton>
        <div className="address">
          <span className="muted">localhost:{port}</span>
          <input aria-label="Path" value={path} spellCheck={false} onChange={(event) => setPath(event.target.value)} />
        </div>
        <IconButton
          label="Open in a new tab"
          onClick={() => void notices.attempt(`Could not open port ${port}`, () => ports.openInNewTab(port, path))}
        >
          <ExternalLink size={15} />
        </IconButton>
      </form>
      {error && <div className="empty">Could not open the preview: {error}</div>}
      {!error && shown && (
        <iframe
          key={shown.count}
          title={`Preview of port ${port}`}
          src={shown.url}
          sandbox="allow-scripts allow-same-origin allow-forms allow-popups allow-modals allow-downloads"
        />
      )}
    </div>
  );
}
