import { ChevronDown, Replace, ReplaceAll, X } from "lucide-react";
import { useState } from "react";
import { FileIcon } from "../parts/file-icon.tsx";
import { IconButton } from "../parts/icon-button.tsx";
import { usePage, useSandbox, useSandboxState } from "../state/context.ts";
import { useActions } from "../actions/actions.ts";
import { replaceFound } from "../actions/replace-actions.ts";
import type { FileMatches, Match } from "../state/sandbox/search.ts";
import { nameOf, parentOf } from "../text/paths.ts";
import { replacementAt } from "../state/replace/replace-matches.ts";

// The matches of a file. While replacing, each shows its new text and can be replaced or left out.
export function FileResult({ file }: { file: FileMatches }) {
  const deps = { ...usePage(), ...useSandbox() };
  const { search } = deps;
  const replaceShown = useSandboxState("search", (state) => state.replaceShown);
  const [expanded, setExpanded] = useState(true);
  const name = nameOf(file.path);
  return (
    <div>
      <div className="result-row">
        <button type="button" className="result-file" aria-expanded={expanded} onClick={() => setExpanded(!expanded)}>
          <ChevronDown size={14} style={{ transform: expanded ? "none" : "rotate(-90deg)" }} />
          <FileIcon path={file.path} />
          <span className="name truncate">{name}</span>
          <span className="folder muted truncate">{parentOf(file.path)}</span>
          <span className="count">
            {file.matches.length}
            {file.more && "+"}
          </span>
        </button>
        <div className="result-actions">
          {replaceShown && (
            <IconButton label={`Replace all in ${name}`} onClick={() => void replaceFound(deps, [file])}>
              <ReplaceAll size={14} />
            </IconButton>
          )}
          <IconButton label={`Leave out ${name}`} onClick={() => search.dismiss(file.path)}>
            <X size={14} />
          </IconButton>
        </div>
      </div>
      {expanded && file.matches.map((match) => <MatchLine key={`${match.line}:${match.column}`} file={file} match={match} />)}
      {expanded && file.more && (
        <button type="button" className="result-line more" onClick={() => void search.loadMore(file.path)}>
          More in this file
        </button>
      )}
    </div>
  );
}

const CHARS_BEFORE = 14;
const CHARS_AFTER = 200;

function MatchLine({ file, match }: { file: FileMatches; match: Match }) {
  const deps = { ...usePage(), ...useSandbox() };
  const { openFile } = useActions();
  const newText = useSandboxState("search", (state) =>
    state.replaceShown ? replacementAt(match.text, match.column - 1, match.length, state) : null,
  );
  const start = match.column - 1;
  const from = Math.max(0, start - CHARS_BEFORE);
  const before = match.text.slice(from, start).trimStart();
  const found = match.text.slice(start, start + match.length);
  return (
    <div className="result-row">
      <button type="button" className="result-line" onClick={() => openFile(file.path, match)}>
        <span className="number">{match.line}</span>
        {from > 0 && "…"}
        {before}
        {newText === null ? (
          <mark>{found}</mark>
        ) : (
          <>
            <del>{found}</del>
            {newText !== "" && <ins>{newText}</ins>}
          </>
        )}
        {match.text.slice(start + match.length, start + match.length + CHARS_AFTER)}
      </button>
      <div className="result-actions">
        {newText !== null && (
          <IconButton
            label={`Replace the match in line ${match.line}`}
            onClick={() => void replaceFound(deps, [{ ...file, matches: [match] }])}
          >
            <Replace size={14} />
          </IconButton>
        )}
        <IconButton label={`Leave out line ${match.line}`} onClick={() => deps.search.dismiss(file.path, match)}>
          <X size={14} />
        </IconButton>
      </div>
    </div>
  );
}
