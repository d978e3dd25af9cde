import { CaseSensitive, ChevronDown, Regex, WholeWord } from "lucide-react";
import { useState } from "react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { FileIcon } from "../parts/file-icon.tsx";
import { IconButton } from "../parts/icon-button.tsx";
import { nameOf, parentOf } from "../text/paths.ts";
import { openFile } from "../state/actions.ts";
import type { FileMatches, Match } from "../state/sandbox/search.ts";

export default function SearchPanel() {
  const { search } = useWorkspace();
  const { text, include, files, summary, error, ...options } = useWorkspaceState("search", (state) => state);
  const toggle = (name: keyof typeof options) => () => search.edit({ [name]: !options[name] });
  return (
    <>
      <div className="panel-head">
        <h2>Search</h2>
      </div>
      <div className="search-form" role="search">
        <div className="query">
          <input
            autoFocus
            className="field"
            aria-label="Search in files"
            placeholder="Search in files"
            spellCheck={false}
            value={text}
            aria-invalid={error !== null}
            onChange={(event) => search.edit({ text: event.target.value })}
          />
          <div className="toggles">
            <IconButton label="Match case" aria-pressed={options.matchCase} onClick={toggle("matchCase")}>
              <CaseSensitive size={16} />
            </IconButton>
            <IconButton label="Whole words" aria-pressed={options.word} onClick={toggle("word")}>
              <WholeWord size={15} />
            </IconButton>
            <IconButton label="Regular expression" aria-pressed={options.regex} onClick={toggle("regex")}>
              <Regex size={14} />
            </IconButton>
          </div>
        </div>
        <input
          className="field"
          aria-label="Files to include"
          placeholder="Files to include: *.ts, src/**"
          spellCheck={false}
          value={include}
          onChange={(event) => search.edit({ include: event.target.value })}
        />
      </div>
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

function FileResult({ file }: { file: FileMatches }) {
  const { search } = useWorkspace();
  const [expanded, setExpanded] = useState(true);
  return (
    <div>
      <button type="button" className="result-file" aria-expanded={expanded} onClick={() => setExpanded(!expanded)}>
        <ChevronDown size={14} style={{ transform: expanded ? "none" : "rotate(-90deg)" }} />
        <FileIcon path={file.path} />
        <span className="name truncate">{nameOf(file.path)}</span>
        <span className="folder muted truncate">{parentOf(file.path)}</span>
        <span className="count">
          {file.matches.length}
          {file.more && "+"}
        </span>
      </button>
      {expanded && file.matches.map((match) => <MatchLine key={`${match.line}:${match.column}`} path={file.path} match={match} />)}
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

function MatchLine({ path, match }: { path: string; match: Match }) {
  const workspace = useWorkspace();
  const start = match.column - 1;
  const from = Math.max(0, start - CHARS_BEFORE);
  const before = match.text.slice(from, start).trimStart();
  return (
    <button type="button" className="result-line" onClick={() => openFile(workspace, path, match)}>
      <span className="number">{match.line}</span>
      {from > 0 && "…"}
      {before}
      <mark>{match.text.slice(start, start + match.length)}</mark>
      {match.text.slice(start + match.length, start + match.length + CHARS_AFTER)}
    </button>
  );
}
