import "../styles/panels.css";
import { ReplaceAll, Undo2 } from "lucide-react";
import { usePage, usePageState, useSandbox, useSandboxState } from "../state/context.ts";
import { replaceAll, undoReplace } from "../actions/replace-actions.ts";
import { FileResult } from "./file-result.tsx";
import { SearchForm } from "./search-form.tsx";

export default function SearchPanel() {
  const deps = { ...usePage(), ...useSandbox() };
  const { files, summary, error, replaceShown } = useSandboxState("search", (state) => state);
  const canUndo = usePageState("replacements", ({ changes }) => changes.length > 0);
  return (
    <>
      <div className="panel-head">
        <h2>Search</h2>
      </div>
      <SearchForm />
      {(replaceShown || canUndo) && (
        <div className="search-actions">
          {replaceShown && (
            <button type="button" className="button small" disabled={files.length === 0} onClick={() => void replaceAll(deps)}>
              <ReplaceAll size={14} />
              Replace all
            </button>
          )}
          {canUndo && (
            <button type="button" className="button small" onClick={() => void undoReplace(deps)}>
              <Undo2 size={14} />
              Undo replace
            </button>
          )}
        </div>
      )}
      <div className={error === null ? "search-summary" : "search-summary bad"} role="status">
        {error ?? summary}
      </div>
      <div className="panel-body">
        {files.map((file) => (
          <FileResult key={file.path} file={file} />
        ))}
      </div>
    </>
  );
}
