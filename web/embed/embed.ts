import { EMBED_VERSION, type PageMessage, type WorkspaceEvent, type WorkspaceMessage } from "@berth/contract/workspace/embed.ts";

// The script for partners' pages, served at /workspace/embed.js: connects a page with the workspace in its frame.

type EventOf<Type extends WorkspaceEvent["type"]> = Extract<WorkspaceEvent, { type: Type }>;
// Leaves out the message's own field.
type Command = PageMessage extends infer Each ? (Each extends PageMessage ? Omit<Each, "berth"> : never) : never;

export interface EmbeddedWorkspace {
  // Returns a function that removes the listener.
  on<Type extends WorkspaceEvent["type"]>(type: Type, listener: (event: EventOf<Type>) => void): () => void;
  // Call it when your backend has resumed the session after `needs-resume`.
  resumeDone(): void;
  setTheme(theme: "light" | "dark" | "system"): void;
  // Lines and columns start at 1.
  openFile(path: string, position?: { line?: number; column?: number }): void;
  disconnect(): void;
}

export interface ConnectOptions {
  // Shows a Resume button on a paused workspace, which sends `needs-resume`.
  canResume?: boolean;
}

// Connects with the workspace in the frame, and again after each navigation of the frame.
export function connectWorkspace(frame: HTMLIFrameElement, { canResume = false }: ConnectOptions = {}): EmbeddedWorkspace {
  // The frame may show another page at the moment, so commands name the origin that they are for.
  const berthOrigin = new URL(import.meta.url).origin;
  const listeners = new Map<string, Set<(event: never) => void>>();

  function send(command: Command, target = berthOrigin): void {
    frame.contentWindow?.postMessage({ berth: EMBED_VERSION, ...command }, target);
  }
  // Any page may know this.
  const connect = () => send({ type: "connect", canResume }, "*");

  function receive({ source, origin: sender, data }: MessageEvent<Partial<WorkspaceMessage> | null>): void {
    if (source !== frame.contentWindow || sender !== berthOrigin || data?.berth !== EMBED_VERSION) return;
    if (data.type === "hello") connect();
    for (const listener of listeners.get(data.type ?? "") ?? []) listener(data as never);
  }

  addEventListener("message", receive);
  connect();
  return {
    on(type, listener) {
      const added = listeners.get(type) ?? new Set();
      listeners.set(type, added.add(listener));
      return () => void added.delete(listener);
    },
    resumeDone: () => send({ type: "resume-done" }),
    setTheme: (theme) => send({ type: "theme", theme }),
    openFile: (path, position = {}) => send({ type: "open-file", path, ...position }),
    disconnect: () => removeEventListener("message", receive),
  };
}
