import type { EditorView, Panel } from "@codemirror/view";
import { loadModule } from "../../browser/load-module.ts";
import { changeFind, focusFind, optionsOf } from "./find-state.ts";

type Widget = typeof import("./find-widget.tsx");
let loaded: Widget | null = null;

export const loadFindWidget = async (): Promise<Widget> => (loaded ??= await loadModule(() => import("./find-widget.tsx")));

// The widget as a panel of CodeMirror, above the text. Until the widget is loaded, a plain field receives the typed text.
export function createFindPanel(view: EditorView): Panel {
  const dom = document.createElement("div");
  dom.className = "find-widget";
  let mounted = loaded?.mountFindWidget(dom, view) ?? null;
  let destroyed = false;
  if (mounted === null) {
    const field = plainField(view);
    dom.append(field);
    void loadFindWidget().then((widget) => {
      if (destroyed) return;
      const hadFocus = document.activeElement === field;
      field.remove();
      mounted = widget.mountFindWidget(dom, view);
      if (hadFocus) mounted.focus("end");
    });
  }
  return {
    dom,
    top: true,
    update(update) {
      mounted?.update(update.state);
      if (!update.transactions.some(({ effects }) => effects.some((effect) => effect.is(focusFind)))) return;
      if (mounted) mounted.focus("all");
      else dom.querySelector("input")?.focus();
    },
    destroy() {
      destroyed = true;
      mounted?.[Symbol.dispose]();
    },
  };
}

function plainField(view: EditorView): HTMLInputElement {
  const field = document.createElement("input");
  field.className = "field";
  field.ariaLabel = "Find";
  field.value = optionsOf(view.state).search;
  field.addEventListener("input", () => view.dispatch({ effects: changeFind(view.state, { search: field.value }) }));
  return field;
}
