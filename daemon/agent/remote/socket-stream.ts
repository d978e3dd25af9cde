import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import type { WebSocket } from "ws";

const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;

// The messages of a WebSocket, one in each text frame, for the library of the Agent Client Protocol. A frame that is not an object in
// JSON closes the socket.
export function socketStream(socket: WebSocket): Stream {
  const readable = new ReadableStream<AnyMessage>({
    start(controller) {
      socket.on("message", (data: Buffer, isBinary) => {
        const message = isBinary ? null : parseObject(String(data));
        if (!message) return socket.close(1007, "a message is one JSON object in a text frame");
        controller.enqueue(message);
        if ((controller.desiredSize ?? 0) <= 0) socket.pause();
      });
      socket.once("close", () => {
        try {
          controller.close();
        } catch {
          // The library has cancelled it.
        }
      });
    },
    pull: () => socket.resume(),
    cancel: () => socket.close(),
  });
  const writable = new WritableStream<AnyMessage>({
    write(message) {
      // Disconnect a client that does not read. It connects again and loads its conversation.
      if (socket.bufferedAmount > MAX_BUFFERED_BYTES) socket.terminate();
      else if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(message));
    },
    close: () => socket.close(),
    abort: () => socket.terminate(),
  });
  return { readable, writable };
}

function parseObject(text: string): AnyMessage | null {
  try {
    const message: unknown = JSON.parse(text);
    return typeof message === "object" && message !== null && !Array.isArray(message) ? (message as AnyMessage) : null;
  } catch {
    return null;
  }
}
