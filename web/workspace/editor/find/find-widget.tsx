import "../../styles/editor/find.css";
import "../../styles/editor/toggles.css";
import { findNext, findPrevious, replaceNext } from "@codemirror/search";
import type { EditorState } from "@codemirror/state";
import { runScopeHandlers, type EditorView } from "@codemirror/view";
import { ArrowDown, ArrowUp, CaseSensitive, ChevronRight, Regex, Replace, ReplaceAll, TextSelect, WholeWord, X } from "lucide-react";
import { useEffect, useRef, type KeyboardEvent } from "react";
import { createRoot } from "react-dom/client";
import { IconButton } from "../../parts/icon-button.tsx";
import { describeRegexError } from "../../text/regex-error.ts";
import { closeFind, replaceEverything, selectFirstMatch, toggleScope } from "./find-commands.ts";
import { changeFind, findState, isLimited, optionsOf, showReplace, type FindOptions } from "./find-state.ts";
import { useCountText } from "./use-count-text.ts";

export interface MountedWidget extends Disposable {
  update(state: EditorState): void;
  // Moves the keyboard focus to the first field, and selects all of its text or continues at its end.
  focus(select: "all" | "end"): void;
}

interface FocusRequest {
  select: "all" | "end";
}

export function mountFindWidget(container: HTMLElement, view: EditorView): MountedWidget {
  const root = createRoot(container);
  let state = view.state;
  let focusRequest: FocusRequest | null = null;
  const render = () => root.render(<FindWidget view={view} state={state} focusRequest={focusRequest} />);
  render();
  return {
    update(now) {
      state = now;
      render();
    },
    focus(select) {
      focusRequest = { select };
      render();
    },
    // React may be rendering the component that contains the editor.
    [Symbol.dispose]: () => queueMicrotask(() => root.unmount()),
  };
}

interface FindWidgetProps {
  view: EditorView;
  state: EditorState;
  focusRequest: FocusRequest | null;
}

function FindWidget({ view, state, focusRequest }: FindWidgetProps) {
  const field = useRef<HTMLInputElement>(null);
  const options = optionsOf(state);
  const { replaceShown } = state.field(findState);
  const error = options.regexp && options.search !== "" ? describeRegexError(options.search) : null;
  const count = useCountText(state);

  useEffect(() => {
    if (focusRequest === null || !field.current) return;
    field.current.focus();
    const { length } = field.current.value;
    field.current.setSelectionRange(focusRequest.select === "all" ? 0 : length, length);
  }, [focusRequest]);

  const change = (changed: Partial<FindOptions>) => {
    view.dispatch({ effects: changeFind(view.state, changed) });
    if (changed.replace === undefined) selectFirstMatch(view);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const toggled = event.altKey && !event.ctrlKey && !event.metaKey ? TOGGLE_KEYS[event.code] : undefined;
    if (toggled === "scope") toggleScope(view);
    else if (toggled) change({ [toggled]: !options[toggled] });
    else if (!runScopeHandlers(view, event.nativeEvent, "search-panel")) return;
    event.preventDefault();
  };

  return (
    <div className="find-rows" role="search" aria-label="Find and replace" onKeyDown={onKeyDown}>
      <IconButton
        label="Show replace"
        className="expand"
        disabled={state.readOnly}
        aria-expanded={replaceShown}
        onClick={() => view.dispatch({ effects: showReplace.of(!replaceShown) })}
      >
        <ChevronRight size={15} />
      </IconButton>
      <div className="find-fields">
        <div className="find-row">
          <div className="find-query">
            <input
              ref={field}
              main-field="true"
              className="field"
              aria-label="Find"
              aria-invalid={error !== null}
              placeholder="Find"
              autoComplete="off"
              autoCapitalize="off"
              spellCheck={false}
              value={options.search}
              onChange={(event) => change({ search: event.target.value })}
              onKeyDown={(event) => onEnter(event, () => (event.shiftKey ? findPrevious(view) : findNext(view)))}
            />
            <FindToggles options={options} change={change} />
          </div>
          <span className={error !== null || count === "No results" ? "find-count bad" : "find-count"} role="status">
            {error ?? count}
          </span>
          <div className="find-buttons">
            <IconButton label="Previous match" onClick={() => findPrevious(view)}>
              <ArrowUp size={15} />
            </IconButton>
            <IconButton label="Next match" onClick={() => findNext(view)}>
              <ArrowDown size={15} />
            </IconButton>
            <IconButton label="Find in selection" aria-pressed={isLimited(state)} onClick={() => toggleScope(view)}>
              <TextSelect size={15} />
            </IconButton>
            <IconButton label="Close find" onClick={() => closeFind(view)}>
              <X size={15} />
            </IconButton>
          </div>
        </div>
        {replaceShown && !state.readOnly && <ReplaceRow view={view} value={options.replace} onChange={(replace) => change({ replace })} />}
      </div>
    </div>
  );
}

// The keys of VS Code, with Alt.
const TOGGLE_KEYS: Record<string, "caseSensitive" | "wholeWord" | "regexp" | "scope"> = {
  KeyC: "caseSensitive",
  KeyW: "wholeWord",
  KeyR: "regexp",
  KeyL: "scope",
};

function ReplaceRow({ view, value, onChange }: { view: EditorView; value: string; onChange: (value: string) => void }) {
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) =>
    onEnter(event, () => (event.ctrlKey || event.metaKey ? replaceEverything(view) : replaceNext(view)));
  return (
    <div className="find-row">
      <input
        className="field find-replacement"
        aria-label="Replace"
        placeholder="Replace"
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="find-buttons">
        <IconButton label="Replace this match" onClick={() => replaceNext(view)}>
          <Replace size={15} />
        </IconButton>
        <IconButton label="Replace all" onClick={() => replaceEverything(view)}>
          <ReplaceAll size={15} />
        </IconButton>
      </div>
    </div>
  );
}

function onEnter(event: KeyboardEvent, run: () => void): void {
  if (event.key !== "Enter" || event.altKey || event.nativeEvent.isComposing) return;
  event.preventDefault();
  event.stopPropagation();
  run();
}

function FindToggles({ options, change }: { options: FindOptions; change: (changed: Partial<FindOptions>) => void }) {
  const { caseSensitive, wholeWord, regexp } = options;
  return (
    <div className="toggles">
      <IconButton label="Match case" aria-pressed={caseSensitive} onClick={() => change({ caseSensitive: !caseSensitive })}>
        <CaseSensitive size={16} />
      </IconButton>
      <IconButton label="Whole words" aria-pressed={wholeWord} onClick={() => change({ wholeWord: !wholeWord })}>
        <WholeWord size={15} />
      </IconButton>
      <IconButton label="Regular expression" aria-pressed={regexp} onClick={() => change({ regexp: !regexp })}>
        <Regex size={14} />
      </IconButton>
    </div>
  );
}
