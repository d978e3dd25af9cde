import { setDiagnosticsEffect } from "@codemirror/lint";
import { type EditorState, type Extension, Prec, StateEffect, StateField } from "@codemirror/state";
import { EditorView, gutter, GutterMarker, ViewPlugin, type ViewUpdate } from "@codemirror/view";
import { formatShortcut } from "../../../browser/shortcuts.ts";
import { hasQuickFix } from "./code-actions.ts";

const PAUSE_MS = 250;
const KEY = formatShortcut("Mod+.");

const setBulb = StateEffect.define<number | null>();

// The start of the line with the bulb, or null. The bulb stays only while the cursor is on its line.
const bulb = StateField.define<number | null>({
  create: () => null,
  update(shown, { effects, changes, state }) {
    for (const effect of effects) if (effect.is(setBulb)) return effect.value;
    const start = shown === null ? null : changes.mapPos(shown, -1);
    return start === cursorLine(state).from ? start : null;
  },
  // The margin is hidden from screen readers.
  provide: (field) =>
    EditorView.contentAttributes.from(field, (shown) => ({ "aria-description": shown === null ? "" : `Quick fix: ${KEY}` })),
});

const cursorLine = (state: EditorState) => state.doc.lineAt(state.selection.main.head);

// Asks the server after a pause whether it has a quick fix for a problem on the cursor's line.
const lookup = ViewPlugin.fromClass(
  class {
    readonly view: EditorView;
    timer: ReturnType<typeof setTimeout> | undefined;
    isDestroyed = false;

    constructor(view: EditorView) {
      this.view = view;
    }

    update({ docChanged, selectionSet, transactions }: ViewUpdate) {
      const isNew = transactions.some(({ effects }) => effects.some((effect) => effect.is(setDiagnosticsEffect)));
      if (!docChanged && !selectionSet && !isNew) return;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => void this.look(), PAUSE_MS);
    }

    async look() {
      const { view } = this;
      const { state } = view;
      const { from } = cursorLine(state);
      // A bulb is a hint, so a server that fails shows none.
      const found = await hasQuickFix(view).catch(() => false);
      const isCurrent = !this.isDestroyed && view.state.doc === state.doc && cursorLine(view.state).from === from;
      const wanted = found ? from : null;
      if (isCurrent && view.state.field(bulb) !== wanted) view.dispatch({ effects: setBulb.of(wanted) });
    }

    destroy() {
      this.isDestroyed = true;
      clearTimeout(this.timer);
    }
  },
);

const LIGHT_BULB =
  '<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round"><path d="M15 14c.2-1 .7-1.7 1.5-2.5 1-.9 1.5-2.2 1.5-3.5A6 6 0 0 0 6 8c0 1 .2 2.2 1.5 3.5.7.7 1.3 1.5 1.5 2.5M9 18h6M10 22h4"/></svg>';

class BulbMarker extends GutterMarker {
  override eq() {
    return true;
  }

  override toDOM() {
    const dom = document.createElement("span");
    dom.className = "cm-bulb";
    dom.title = `Quick fix (${KEY})`;
    dom.innerHTML = LIGHT_BULB;
    return dom;
  }
}

const marker = new BulbMarker();

// Takes no room: the bulb lies over the space beside the line number.
const look = EditorView.theme({
  ".cm-bulb-gutter": { width: "0", zIndex: "1" },
  ".cm-bulb": {
    position: "absolute",
    left: "0",
    width: "15px",
    height: "1.55em",
    display: "grid",
    placeItems: "center",
    color: "var(--warn)",
    cursor: "pointer",
  },
  ".cm-bulb svg": { width: "13px", height: "13px" },
  ".cm-bulb:hover": { color: "var(--accent)" },
});

// A light bulb in the margin of the cursor's line while the server has a quick fix for a problem there.
export function lightBulb(showFixes: (view: EditorView) => void): Extension {
  const margin = gutter({
    class: "cm-bulb-gutter",
    lineMarker: (view, { from }) => (view.state.field(bulb) === from ? marker : null),
    lineMarkerChange: ({ state, startState }) => state.field(bulb) !== startState.field(bulb),
    domEventHandlers: {
      mousedown(view, { from }, event) {
        if (view.state.field(bulb) !== from) return false;
        event.preventDefault();
        showFixes(view);
        return true;
      },
    },
  });
  return [bulb, lookup, Prec.highest(margin), look];
}
