import { createStore } from "zustand/vanilla";
import type { WorkspaceSession } from "@berth/contract/workspace/workspace.ts";
import { ApiError } from "../../connection/api.ts";

export interface ResumeState {
  isResuming: boolean;
  // Why the last attempt failed.
  failure: string | null;
}

export type Resume = ReturnType<typeof createResume>;

// Resumes a paused session whose partner allows that from here.
export function createResume(deps: { resume: () => Promise<WorkspaceSession>; onSession: (session: WorkspaceSession) => void }) {
  const store = createStore<ResumeState>(() => ({ isResuming: false, failure: null }));
  return {
    store,
    start: async (): Promise<void> => {
      if (store.getState().isResuming) return;
      store.setState({ isResuming: true, failure: null });
      try {
        deps.onSession(await deps.resume());
        store.setState({ isResuming: false });
      } catch (error) {
        store.setState({ isResuming: false, failure: describeFailure(error) });
      }
    },
  };
}

// For a page that was loaded for a paused session. A page in the background waits until a person looks at it.
export function resumeWhenSeen(resume: Pick<Resume, "start">, page: Pick<Document, "hidden" | "addEventListener"> = document): void {
  if (!page.hidden) return void resume.start();
  page.addEventListener("visibilitychange", () => void resume.start(), { once: true });
}

function describeFailure(error: unknown): string {
  const code = error instanceof ApiError ? error.code : null;
  if (code === "capacity_reached") return "There is no room for this session at the moment. Try again in a minute.";
  if (code === "server_disk_full") return "The server has no disk space for this session at the moment. Try again in a minute.";
  if (code === "session_resuming") return "This takes longer than usual. The page continues when the session is resumed.";
  if (code === "offline") return "The server cannot be reached. Check your connection and try again.";
  return "The session could not be resumed. Try again in a moment.";
}
