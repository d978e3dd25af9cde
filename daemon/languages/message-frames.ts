const HEADER_END = Buffer.from("\r\n\r\n");
const MAX_HEADER_BYTES = 4096;
// Completions in a large project reach a few megabytes.
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

// Splits the output of a language server into messages. Throws if the output does not follow the protocol or a message is too
// large, because nothing after that can be understood.
export function createMessageReader(onMessage: (message: Buffer) => void, maxBytes = MAX_MESSAGE_BYTES) {
  let chunks: Buffer[] = [];
  let size = 0;
  // The length of the message whose header has been read.
  let length: number | null = null;

  return (chunk: Buffer): void => {
    chunks.push(chunk);
    size += chunk.length;
    while (length === null ? readHeader() : readMessage(length));
  };

  function readHeader(): boolean {
    const bytes = joined();
    const end = bytes.indexOf(HEADER_END);
    if (end === -1 && size <= MAX_HEADER_BYTES) return false;
    const header = end === -1 ? "" : bytes.toString("latin1", 0, end);
    const given = /^content-length: *(\d{1,9})$/im.exec(header)?.[1];
    if (given === undefined) throw new Error("It sent a malformed header");
    if (Number(given) > maxBytes) throw new Error(`It sent a message of ${given} bytes`);
    length = Number(given);
    drop(end + HEADER_END.length);
    return true;
  }

  function readMessage(bytes: number): boolean {
    if (size < bytes) return false;
    onMessage(joined().subarray(0, bytes));
    drop(bytes);
    length = null;
    return size > 0;
  }

  function joined(): Buffer {
    const [first = Buffer.alloc(0), ...rest] = chunks;
    if (rest.length === 0) return first;
    const all = Buffer.concat(chunks);
    chunks = [all];
    return all;
  }

  function drop(bytes: number): void {
    const rest = joined().subarray(bytes);
    chunks = rest.length > 0 ? [rest] : [];
    size = rest.length;
  }
}

export function frameMessage(message: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`Content-Length: ${message.length}\r\n\r\n`), message]);
}
