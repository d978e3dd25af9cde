import type { Socket } from "node:net";

// Reads up to the first line break. What follows stays in the socket.
export function readLine(socket: Socket): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const chunks: Buffer[] = [];
  const onReadable = () => {
    for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
      const end = chunk.indexOf(10);
      chunks.push(end === -1 ? chunk : chunk.subarray(0, end));
      if (end === -1) continue;
      stop();
      if (end + 1 < chunk.length) socket.unshift(chunk.subarray(end + 1));
      return resolve(Buffer.concat(chunks).toString());
    }
  };
  const onClose = () => {
    stop();
    reject(new Error("the connection was closed"));
  };
  const stop = () => socket.off("readable", onReadable).off("close", onClose);
  socket.on("readable", onReadable).once("close", onClose);
  return promise;
}
