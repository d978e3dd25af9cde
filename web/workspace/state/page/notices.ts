import { createStore } from "zustand/vanilla";
import { ApiError } from "../../connection/api.ts";

const INFO_SHOWN_MS = 6000;
const OFFER_SHOWN_MS = 20_000;
const MAX_SHOWN = 4;

export interface Notice {
  id: number;
  kind: "info" | "warning" | "error";
  text: string;
  // The action of a button on the notice.
  action?: { label: string; run: () => void };
}

export type Notices = ReturnType<typeof createNotices>;

// Short messages in the corner. Information disappears after a few seconds; warnings and errors stay until they are dismissed.
export function createNotices() {
  const store = createStore<{ notices: Notice[] }>(() => ({ notices: [] }));
  let lastId = 0;
  const dismiss = (id: number) => store.setState(({ notices }) => ({ notices: notices.filter((notice) => notice.id !== id) }));
  const show = (notice: Omit<Notice, "id">): number => {
    const id = ++lastId;
    store.setState(({ notices }) => ({
      notices: limitCount([...notices.filter(({ text }) => text !== notice.text), { ...notice, id }]),
    }));
    if (notice.kind === "info") setTimeout(() => dismiss(id), notice.action ? OFFER_SHOWN_MS : INFO_SHOWN_MS);
    return id;
  };
  return {
    store,
    dismiss,
    info: (text: string) => void show({ kind: "info", text }),
    // These return the notice's id, so that the caller can dismiss it when it is no longer true.
    error: (text: string): number => show({ kind: "error", text }),
    // Information with a button, which stays a little longer.
    offer: (text: string, action: NonNullable<Notice["action"]>): number => show({ kind: "info", text, action }),
    warn: (text: string, action?: Notice["action"]): number => show({ kind: "warning", text, ...(action && { action }) }),
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

// Drops the oldest notices, but no warnings.
function limitCount(notices: Notice[]): Notice[] {
  const excess = notices.filter(({ kind }) => kind !== "warning").slice(0, Math.max(0, notices.length - MAX_SHOWN));
  return notices.filter((notice) => !excess.includes(notice));
}

export function describeError(error: unknown): string {
  if (error instanceof ApiError && error.code === "disk_full") return "The disk of this workspace is full. Delete some files first";
  if (error instanceof Error) return error.message;
  return "Something went wrong. Try again";
}
