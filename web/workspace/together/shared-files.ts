import type { TogetherFromClient, TogetherFromDaemon } from "@berth/contract/workspace/together.ts";
import type { Documents } from "../state/documents/documents.ts";
import type { EditorBuffer } from "../state/documents/open-files.ts";
import { createSharedDocument, type SharedDocument } from "./shared-document.ts";

interface SharedFilesDeps {
  documents: Documents;
  send: (message: TogetherFromClient) => boolean;
  mayEdit: boolean;
}

type TextMessage = Exclude<TogetherFromDaemon, { type: "people" | "moved" }>;

// Tells the daemon which texts this page has open, and passes on what it says about them.
export function createSharedFiles({ documents, send, mayEdit }: SharedFilesDeps) {
  const openTexts = new Map<string, { buffer: EditorBuffer; shared: SharedDocument }>();
  let isConnected = false;

  // Follows the open files. A file has a buffer as soon as an editor shows it.
  function update(): void {
    for (const [path, { buffer, shared }] of openTexts)
      if (documents.bufferOf(path) !== buffer) {
        openTexts.delete(path);
        shared[Symbol.dispose]();
        send({ type: "close", path });
      }
    for (const path of Object.keys(documents.store.getState().files)) {
      const buffer = documents.bufferOf(path);
      if (!buffer?.live || openTexts.has(path)) continue;
      const shared = createSharedDocument({ path, live: buffer.live, documents, send, mayEdit });
      openTexts.set(path, { buffer, shared });
      if (isConnected) shared.connected();
    }
  }
  documents.store.subscribe(update);
  update();

  return {
    connected() {
      isConnected = true;
      for (const { shared } of openTexts.values()) shared.connected();
    },
    disconnected() {
      isConnected = false;
      for (const { shared } of openTexts.values()) shared.disconnected();
    },
    receive(message: TextMessage) {
      openTexts.get(message.path)?.shared.receive(message);
    },
  };
}
