import "../styles/editor/toggles.css";
import { CaseSensitive, ChevronRight, Regex, WholeWord } from "lucide-react";
import { IconButton } from "../parts/icon-button.tsx";
import { useSandbox, useSandboxState, useSession } from "../state/context.ts";

export function SearchForm() {
  const { search } = useSandbox();
  const { mayEdit } = useSession();
  const { text, include, exclude, matchCase, word, regex, replaceShown, replacement, error } = useSandboxState("search", (state) => state);
  return (
    <div className="search-form" role="search">
      <div className="search-row">
        {mayEdit && (
          <IconButton
            label="Show replace"
            className="expand"
            aria-expanded={replaceShown}
            onClick={() => search.showReplace(!replaceShown)}
          >
            <ChevronRight size={15} />
          </IconButton>
        )}
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
            <IconButton label="Match case" aria-pressed={matchCase} onClick={() => search.edit({ matchCase: !matchCase })}>
              <CaseSensitive size={16} />
            </IconButton>
            <IconButton label="Whole words" aria-pressed={word} onClick={() => search.edit({ word: !word })}>
              <WholeWord size={15} />
            </IconButton>
            <IconButton label="Regular expression" aria-pressed={regex} onClick={() => search.edit({ regex: !regex })}>
              <Regex size={14} />
            </IconButton>
          </div>
        </div>
      </div>
      {replaceShown && (
        <input
          className="field"
          aria-label="Replace with"
          placeholder="Replace with"
          spellCheck={false}
          value={replacement}
          onChange={(event) => search.setReplacement(event.target.value)}
        />
      )}
      <input
        className="field"
        aria-label="Files to include"
        placeholder="Files to include: *.ts, src/**"
        spellCheck={false}
        value={include}
        onChange={(event) => search.edit({ include: event.target.value })}
      />
      <input
        className="field"
        aria-label="Files to exclude"
        placeholder="Files to exclude: *.test.ts, docs/**"
        spellCheck={false}
        value={exclude}
        onChange={(event) => search.edit({ exclude: event.target.value })}
      />
    </div>
  );
}
