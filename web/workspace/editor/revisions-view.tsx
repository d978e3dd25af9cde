import "../styles/editor/diff.css";
import { useEffect, useState } from "react";
import { useSandbox, useSandboxState } from "../state/context.ts";
import type { Revision, RevisionsTab } from "../state/tabs/tab.ts";
import { describeError } from "../state/page/notices.ts";
import { decodeText } from "../text/encoding.ts";
import { Diff } from "./diff-view.tsx";
import type { Uses } from "../actions/actions.ts";

type Deps = Uses<"api" | "git">;

type Sides = { kind: "texts"; before: string; after: string } | { kind: "binary" } | { kind: "failed"; message: string };

// Compares two revisions of a file.
export default function RevisionsView({ tab }: { tab: RevisionsTab }) {
  const sandbox = useSandbox();
  const version = useSandboxState("git", (state) => state.version);
  const [sides, setSides] = useState<Sides | null>(null);
  useEffect(() => {
    let cancelled = false;
    void readSides(sandbox, tab).then((found) => !cancelled && setSides((shown) => (sameSides(shown, found) ? shown : found)));
    return () => void (cancelled = true);
  }, [sandbox, tab, version]);

  if (sides === null) return <div className="loading-center" aria-busy="true" />;
  if (sides.kind === "failed") return <div className="empty">Could not compare: {sides.message}</div>;
  if (sides.kind === "binary") return <div className="empty">This is not a text file.</div>;
  const path = (tab.after ?? tab.before)?.path ?? "";
  return (
    <>
      <div className="diff-head">
        <span className="grow truncate">
          {path}: {nameOf(tab.before)} and {nameOf(tab.after)}
        </span>
      </div>
      {sides.before === sides.after ? (
        <div className="empty">Nothing to compare. Both versions are the same.</div>
      ) : (
        <Diff path={path} before={sides.before} after={sides.after} />
      )}
    </>
  );
}

const MAX_BYTES = 20 * 1024 * 1024;
const NAMES: Record<string, string> = { disk: "now", index: "staged", HEAD: "the last commit" };

function nameOf(side: Revision | null): string {
  return side === null ? "nothing" : (NAMES[side.revision] ?? side.revision.slice(0, 7));
}

async function readSides(deps: Deps, { before, after }: RevisionsTab): Promise<Sides> {
  try {
    const [a, b] = await Promise.all([readSide(deps, before), readSide(deps, after)]);
    return a === null || b === null ? { kind: "binary" } : { kind: "texts", before: a, after: b };
  } catch (error) {
    return { kind: "failed", message: describeError(error) };
  }
}

// Null if the content is no text.
async function readSide({ api, git }: Deps, side: Revision | null): Promise<string | null> {
  if (side === null) return "";
  const read = () => (side.revision === "disk" ? api.readFile(side.path, MAX_BYTES) : git.content(side.path, side.revision));
  const found = await read();
  if (found === null) return "";
  return found.bytes === null ? null : (decodeText(found.bytes)?.text ?? null);
}

const sameSides = (a: Sides | null, b: Sides): boolean =>
  a !== null && a.kind === "texts" && b.kind === "texts" && a.before === b.before && a.after === b.after;
