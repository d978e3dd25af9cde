import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { isReconnecting } from "../state/sandbox/session.ts";

export function StatusBar() {
  const { preferences, documents, layout } = useWorkspace();
  const reconnecting = useWorkspaceState("session", isReconnecting);
  const { autosave, wrapLines } = useWorkspaceState("preferences", (state) => state);
  const unsaved = useWorkspaceState(
    "documents",
    ({ files }) => Object.values(files).filter((file) => file.kind === "text" && file.document.edited).length,
  );
  const failing = useWorkspaceState("documents", ({ files }) =>
    Object.values(files).some((file) => file.kind === "text" && file.document.edited && file.document.failure !== null),
  );
  const ports = useWorkspaceState("ports", (state) => state.list);
  const cursor = useWorkspaceState("cursor", (state) => state);
  return (
    <footer className="status-bar">
      <span>
        <i className={reconnecting ? "dot lost" : "dot"} />
        {reconnecting ? "Reconnecting" : "Connected"}
      </span>
      {unsaved > 0 && (
        <button type="button" onClick={() => void documents.saveAll()}>
          {unsaved} unsaved
        </button>
      )}
      {ports.length > 0 && (
        <button type="button" className="optional" onClick={() => layout.showSideView("ports")}>
          {ports.length === 1 ? `Port ${ports[0]?.port}` : `${ports.length} ports`}
        </button>
      )}
      <div className="grow" />
      {cursor.position && <span>{cursor.position}</span>}
      {cursor.language && <span className="optional">{cursor.language}</span>}
      <button type="button" className="optional" aria-pressed={wrapLines} onClick={() => preferences.set({ wrapLines: !wrapLines })}>
        Wrap: {wrapLines ? "on" : "off"}
      </button>
      <button type="button" className="optional" aria-pressed={autosave} onClick={() => preferences.set({ autosave: !autosave })}>
        Autosave: {!autosave ? "off" : failing ? "retrying" : "on"}
      </button>
    </footer>
  );
}
