import { CircleX, TriangleAlert } from "lucide-react";
import { lazyPart } from "../browser/lazy-part.ts";
import { countProblems } from "../state/sandbox/languages.ts";
import { usePage, usePageState, useSandboxState, useSession, useSessionState } from "../state/context.ts";
import { activeFile } from "../state/tabs/editor-groups.ts";
import { encodingNames } from "../text/encoding.ts";
import { isReconnecting } from "../state/session/session-store.ts";

const BranchButton = lazyPart(() => import("../git/branch-button.tsx"));

export function StatusBar() {
  const { preferences, documents, layout } = usePage();
  const { mayEdit } = useSession();
  const reconnecting = useSessionState(isReconnecting);
  const { autosave, wrapLines } = usePageState("preferences", (state) => state);
  const unsaved = usePageState(
    "documents",
    ({ files }) => Object.values(files).filter((file) => file.kind === "text" && file.document.edited).length,
  );
  const failing = usePageState("documents", ({ files }) =>
    Object.values(files).some((file) => file.kind === "text" && file.document.edited && file.document.failure !== null),
  );
  const hasRepository = useSandboxState("git", ({ repository }) => repository !== null);
  const ports = useSandboxState("ports", (state) => state.list);
  const cursor = usePageState("cursor", (state) => state);
  return (
    <footer className="status-bar">
      {reconnecting && (
        <span>
          <i className="dot lost" />
          Reconnecting
        </span>
      )}
      {hasRepository && <BranchButton />}
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
  const { documents, dialogs } = usePage();
  const { mayEdit } = useSession();
  const path = usePageState("layout", activeFile);
  const encoding = usePageState("documents", ({ files }) => {
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

// The number of problems in all files that language servers know, and servers that do not work.
function LanguageStatus() {
  const { layout } = usePage();
  const isKnown = useSandboxState("languages", ({ problems }) => Object.keys(problems).length > 0);
  const errors = useSandboxState("languages", (state) => countProblems(state, "error"));
  const warnings = useSandboxState("languages", (state) => countProblems(state, "warning"));
  const failed = useSandboxState("languages", ({ servers }) => Object.values(servers).find(({ status }) => status === "failed")?.name);
  return (
    <>
      {isKnown && (
        <button type="button" className="problems" title="Show problems" onClick={() => layout.showSideView("problems")}>
          <CircleX size={13} aria-hidden /> {errors}
          <span className="visually-hidden"> {nounOf(errors, "error")} and </span>
          <TriangleAlert size={13} aria-hidden /> {warnings}
          <span className="visually-hidden"> {nounOf(warnings, "warning")}</span>
        </button>
      )}
      {failed !== undefined && <span className="optional">{failed} does not run</span>}
    </>
  );
}

const nounOf = (count: number, word: string) => `${word}${count === 1 ? "" : "s"}`;
