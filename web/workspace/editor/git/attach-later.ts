import type { EditorView } from "@codemirror/view";
import { afterFirstText } from "../../browser/first-text.ts";
import type { Uses } from "../../actions/actions.ts";

// Marks the changes of a file once there is a repository. The code for that loads after the first text is on the screen.
export function attachGitLater(deps: Uses<"documents" | "git" | "notices" | "preferences">, view: EditorView, path: string): Disposable {
  const all = new DisposableStack();
  const { store } = deps.git;
  const hasRepository = () => store.getState().repositories.length > 0;
  let started = false;
  const start = async () => {
    if (started || !hasRepository()) return;
    started = true;
    await afterFirstText();
    // The marks are no reason to reload the page while the person types, so a failure waits for the next change.
    const loaded = await import("./attach.ts").catch(() => null);
    if (loaded === null) started = false;
    else if (!all.disposed) all.use(loaded.attachGit(deps, view, path));
  };
  all.defer(store.subscribe(() => void start()));
  void start();
  return all;
}
