import "../../styles/editor/settings.css";
import { LanguageDescription } from "@codemirror/language";
import { languages } from "@codemirror/language-data";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { TriangleAlert } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { editorSetup, language } from "../code/setup.ts";
import { usePage } from "../../state/context.ts";
import { formatSettingsJson, parseSettingsJson, type JsonProblem } from "./parse-json.ts";
import type { Uses } from "../../actions/actions.ts";

// The personal settings as JSON. Valid settings apply at once.
export default function SettingsJson() {
  const page = usePage();
  const container = useRef<HTMLDivElement>(null);
  const [problems, setProblems] = useState<JsonProblem[]>([]);

  useEffect(() => {
    if (!container.current) return;
    const view = openEditor(page, container.current, setProblems);
    return () => view[Symbol.dispose]();
  }, [page]);

  return (
    <div className="settings-json">
      <div ref={container} className="text-editor" />
      <ul className="settings-problems" aria-label="Problems" role="status">
        {problems.map(({ message, from }) => (
          <li key={`${from} ${message}`}>
            <TriangleAlert size={14} />
            {message}
          </li>
        ))}
      </ul>
    </div>
  );
}

// Text that cannot be applied stays while the page is open.
let unappliedText: string | null = null;

function openEditor({ preferences }: Uses<"preferences">, container: HTMLElement, report: (problems: JsonProblem[]) => void): Disposable {
  const text = unappliedText ?? formatSettingsJson(preferences.values());
  let applying = false;
  const view = new EditorView({
    parent: container,
    state: EditorState.create({
      doc: text,
      extensions: [
        editorSetup({ path: "settings.json", text, preferences: preferences.store.getState() }),
        lintGutter(),
        EditorView.updateListener.of(({ docChanged }) => docChanged && queueMicrotask(applyText)),
      ],
    }),
  });
  const json = LanguageDescription.matchLanguageName(languages, "JSON");
  void json?.load().then((support) => view.dispatch({ effects: language.reconfigure(support) }));

  function applyText(): void {
    const written = view.state.sliceDoc();
    const { values, problems } = parseSettingsJson(written);
    unappliedText = problems.length > 0 ? written : null;
    report(problems);
    view.dispatch(
      setDiagnostics(
        view.state,
        problems.map((problem) => ({ ...problem, severity: "error" })),
      ),
    );
    if (values === null) return;
    applying = true;
    preferences.replace(values);
    applying = false;
  }
  applyText();

  // Settings that were changed elsewhere replace the text, unless it has problems.
  const unsubscribe = preferences.store.subscribe(() => {
    if (applying || unappliedText !== null) return;
    const next = formatSettingsJson(preferences.values());
    if (next !== view.state.sliceDoc()) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
  });
  return {
    [Symbol.dispose]() {
      unsubscribe();
      view.destroy();
    },
  };
}
