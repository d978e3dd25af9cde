import { createStore } from "zustand/vanilla";
import { ApiError } from "../../connection/api.ts";

const INFO_SHOWN_MS = 6000;
const MAX_SHOWN = 4;

export interface Notice {
  id: number;
  kind: "info" | "error";
  text: string;
}

export type Notices = ReturnType<typeof createNotices>;

// Short messages in the corner. Errors stay until they are dismissed; other messages disappear after a few seconds.
export function createNotices() {
  const store = createStore<{ notices: Notice[] }>(() => ({ notices: [] }));
  let lastId = 0;
  const dismiss = (id: number) => store.setState(({ notices }) => ({ notices: notices.filter((notice) => notice.id !== id) }));
  const show = (notice: Omit<Notice, "id">) => {
    const id = ++lastId;
    store.setState(({ notices }) => ({
      notices: [...notices.filter(({ text }) => text !== notice.text), { ...notice, id }].slice(-MAX_SHOWN),
    }));
    if (notice.kind === "info") setTimeout(() => dismiss(id), INFO_SHOWN_MS);
  };
  return {
    store,
    dismiss,
    info: (text: string) => show({ kind: "info", text }),
    error: (text: string) => show({ kind: "error", text }),
    // Runs work that the person started. Shows a failure as "{failure}: {reason}" and returns whether the work succeeded.
    attempt: async (failure: string, work: () => Promise<unknown>): Promise<boolean> => {
      try {
        await work();
        return true;
      } catch (error) {
        show({ kind: "error", text: `${failure}: ${describeError(error)}` });
        return false;
      }
    },
  };
}

export function describeError(error: unknown): string {
  if (error instanceof ApiError && error.code === "disk_full") return "The disk of this workspace is full. Delete some files first";
  if (error instanceof Error) return error.message;
  return "Something went wrong. Try again";
}
