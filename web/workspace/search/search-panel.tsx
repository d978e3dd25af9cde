import { CaseSensitive, ChevronDown, Regex, WholeWord } from "lucide-react";
import { useState } from "react";
import { useWorkspace } from "../state/context.ts";
import { FileIcon } from "../parts/file-icon.tsx";
import { IconButton } from "../parts/icon-button.tsx";
import { nameOf, parentOf } from "../text/paths.ts";
import { openFile } from "../state/actions.ts";
import { useSearch, type FileMatches, type Match } from "./use-search.ts";

export function SearchPanel() {
  const [text, setText] = useState("");
  const [options, setOptions] = useState({ matchCase: false, word: false, regex: false });
  const [include, setInclude] = useState("");
  const { files, summary, error } = useSearch({ text, include, ...options });
  const toggle = (name: keyof typeof options) => () => setOptions((now) => ({ ...now, [name]: !now[name] }));
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
            onChange={(event) => setText(event.target.value)}
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
          onChange={(event) => setInclude(event.target.value)}
        />
      </div>
      <div className="search-summary" role="status">
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
  const [expanded, setExpanded] = useState(true);
  return (
    <div>
      <button type="button" className="result-file" aria-expanded={expanded} onClick={() => setExpanded(!expanded)}>
        <ChevronDown size={14} style={{ transform: expanded ? "none" : "rotate(-90deg)" }} />
        <FileIcon path={file.path} />
        <span className="name truncate">{nameOf(file.path)}</span>
        <span className="folder muted truncate">{parentOf(file.path)}</span>
        <span className="count">{file.matches.length}</span>
      </button>
      {expanded && file.matches.map((match) => <MatchLine key={`${match.line}:${match.column}`} path={file.path} match={match} />)}
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
