import type { Extension } from "@codemirror/state";
import { drawSelection, ViewPlugin, type EditorView, type ViewUpdate } from "@codemirror/view";

const HALF_CYCLE_MS = 600;

// Draws selections and a caret that blinks by two changes per cycle. CodeMirror's own caret blinks with a CSS animation, for
// which the browser draws sixty frames a second as long as the page is open.
export const blinkingCaret: Extension = [drawSelection({ cursorBlinkRate: 0 }), ViewPlugin.define(blink)];

function blink(view: EditorView) {
  const isStill = matchMedia("(prefers-reduced-motion: reduce)");
  let timer: ReturnType<typeof setInterval> | undefined;
  let isShown = true;

  function show(shown: boolean): void {
    isShown = shown;
    const layer = view.dom.querySelector<HTMLElement>(".cm-cursorLayer");
    if (layer) layer.style.opacity = shown ? "" : "0";
  }

  // Shows the caret, and begins a cycle if the editor has the focus.
  function begin(): void {
    clearInterval(timer);
    if (!isShown) show(true);
    timer = view.hasFocus && !isStill.matches ? setInterval(() => show(!isShown), HALF_CYCLE_MS) : undefined;
  }

  begin();
  return {
    update(update: ViewUpdate) {
      if (update.selectionSet || update.docChanged || update.focusChanged) begin();
    },
    destroy: () => clearInterval(timer),
  };
}
