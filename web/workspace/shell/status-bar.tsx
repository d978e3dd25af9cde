import { BranchButton } from "../git/branch-button.tsx";
import { LanguageStatus } from "./language-status.tsx";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { activeFile } from "../state/tabs/editor-groups.ts";
import { encodingNames } from "../text/encoding.ts";
import { isReconnecting } from "../state/sandbox/session.ts";

export function StatusBar() {
  const { mayEdit, preferences, documents, layout } = useWorkspace();
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
      {reconnecting && (
        <span>
          <i className="dot lost" />
          Reconnecting
        </span>
      )}
      <BranchButton />
      {unsaved > 0 && mayEdit && (
        <button type="button" onClick={() => void documents.saveAll()}>
          {unsaved} unsaved
        </button>
      )}
      {ports.length > 0 && (
        <button type="button" className="optional" onClick={() => layout.showSideView("ports")}>
          {ports.length === 1 ? `Port ${ports[0]?.port}` : `${ports.length} ports`}
        </button>
      )}
      <LanguageStatus />
      <div className="grow" />
      {cursor.position && <span>{cursor.position}</span>}
      <EncodingButton />
      {cursor.language && <span className="optional">{cursor.language}</span>}
      <button type="button" className="optional" aria-pressed={wrapLines} onClick={() => preferences.set({ wrapLines: !wrapLines })}>
        Wrap: {wrapLines ? "on" : "off"}
      </button>
      {mayEdit && (
        <button type="button" className="optional" aria-pressed={autosave} onClick={() => preferences.set({ autosave: !autosave })}>
          Autosave: {!autosave ? "off" : failing ? "retrying" : "on"}
        </button>
      )}
    </footer>
  );
}

// UTF-8 is not worth mentioning.
function EncodingButton() {
  const { mayEdit, documents, dialogs } = useWorkspace();
  const path = useWorkspaceState("layout", activeFile);
  const encoding = useWorkspaceState("documents", ({ files }) => {
    const file = path === null ? undefined : files[path];
    return file?.kind === "text" ? file.encoding : "utf-8";
  });
  if (path === null || encoding === "utf-8") return null;
  const convert = async () => {
    const text = `${path} is written in ${encodingNames[encoding]} and saved that way. Converting it changes how other programs read it.`;
    if (await dialogs.confirm("Convert to UTF-8?", text, "Convert", "primary")) await documents.convert(path, "utf-8");
  };
  return (
    <button type="button" disabled={!mayEdit} onClick={() => void convert()}>
      {encodingNames[encoding]}
    </button>
  );
}
