import { createStore } from "zustand/vanilla";
import { ApiError } from "../../connection/api.ts";

export interface Notice {
  id: number;
  kind: "info" | "error";
  text: string;
  action?: { label: string; run: () => void };
}

export type Notices = ReturnType<typeof createNotices>;

// Short messages in the corner. Errors stay until they are dismissed, the rest goes by itself.
export function createNotices() {
  const store = createStore<{ notices: Notice[] }>(() => ({ notices: [] }));
  let lastId = 0;
  const dismiss = (id: number) => store.setState(({ notices }) => ({ notices: notices.filter((notice) => notice.id !== id) }));
  const show = (notice: Omit<Notice, "id">) => {
    const id = ++lastId;
    store.setState(({ notices }) => ({ notices: [...notices.filter(({ text }) => text !== notice.text), { ...notice, id }].slice(-4) }));
    if (notice.kind === "info") setTimeout(() => dismiss(id), 6000);
  };
  return {
    store,
    dismiss,
    info: (text: string, action?: Notice["action"]) => show({ kind: "info", text, ...(action ? { action } : {}) }),
    error: (text: string) => show({ kind: "error", text }),
    // For work that the person started and that nothing else waits for: a failure is told, in plain words.
    attempt: async (what: string, work: () => Promise<unknown>): Promise<boolean> => {
      try {
        await work();
        return true;
      } catch (error) {
        show({ kind: "error", text: `${what}: ${plainWords(error)}` });
        return false;
      }
    },
  };
}

export function plainWords(error: unknown): string {
  if (error instanceof ApiError && error.code === "disk_full") return "the disk of this workspace is full";
  if (error instanceof Error) return error.message;
  return "something went wrong";
}
