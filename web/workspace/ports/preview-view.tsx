import "../styles/panels.css";
import { ExternalLink, RotateCw } from "lucide-react";
import { useCallback, useEffect, useRef, useState, type FormEvent } from "react";
import { readAddress } from "./read-address.ts";
import { frameSize, PageSizeSelect, type PageSize } from "./page-size-select.tsx";
import { usePage, useSandbox, useSandboxState } from "../state/context.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { describeError } from "../state/page/notices.ts";

// A port of the sandbox in a frame. Its origin differs from this page's, so it cannot read anything here.
export default function PreviewView({ port, shown }: { port: number; shown: boolean }) {
  const { notices } = usePage();
  const { ports } = useSandbox();
  const requested = useSandboxState("ports", (state) => state.previews[port]);
  const [path, setPath] = useState("/");
  const [loaded, setLoaded] = useState<{ url: string; count: number } | null>(null);
  const [pageSize, setPageSize] = useState<PageSize>("fit");
  const frame = useRef<HTMLIFrameElement>(null);
  const address = useRef<HTMLInputElement>(null);
  const [error, setError] = useState<string | null>(null);

  const load = useCallback(
    async (to: string) => {
      try {
        const url = await ports.previewUrl(port, to);
        setLoaded((before) => ({ url, count: (before?.count ?? 0) + 1 }));
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

  // The address follows the page in the frame, except while the person edits it.
  useEffect(() => {
    const onMessage = (event: MessageEvent<unknown>) => {
      if (!loaded || event.source !== frame.current?.contentWindow || event.origin !== new URL(loaded.url).origin) return;
      const reported = readAddress(event.data);
      if (reported !== null && document.activeElement !== address.current) setPath(reported);
    };
    addEventListener("message", onMessage);
    return () => removeEventListener("message", onMessage);
  }, [loaded]);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    void load(path.startsWith("/") ? path : `/${path}`);
  };

  return (
    <div className="preview" hidden={!shown}>
      <form className="preview-bar" onSubmit={submit}>
        <IconButton label="Reload" onClick={() => void load(path)}>
          <RotateCw size={14} />
        </IconButton>
        <div className="address">
          <span className="muted">localhost:{port}</span>
          <input ref={address} aria-label="Path" value={path} spellCheck={false} onChange={(event) => setPath(event.target.value)} />
        </div>
        <IconButton
          label="Open in a new tab"
          onClick={() => void notices.attempt(`Could not open port ${port}`, () => ports.openInNewTab(port, path))}
        >
          <ExternalLink size={15} />
        </IconButton>
        <PageSizeSelect value={pageSize} onChange={setPageSize} />
      </form>
      {error && <div className="empty">Could not open the preview: {error}</div>}
      {!error && loaded && (
        <div className="frame" {...(pageSize === "fit" ? {} : { tabIndex: 0, role: "group", "aria-label": `Page on port ${port}` })}>
          <iframe
            style={frameSize(pageSize)}
            key={loaded.count}
            ref={frame}
            title={`Preview of port ${port}`}
            src={loaded.url}
            sandbox="allow-scripts allow-same-origin allow-forms allow-popups allow-modals allow-downloads"
          />
        </div>
      )}
    </div>
  );
}
