// Reads the name of the server (SNI) in the first message of a TLS connection, RFC 8446 and 6066. The bytes come from a sandbox: every
// length is checked, and a message that another reader could understand differently is invalid.

export type ClientHello =
  | { is: "hello"; serverName: string | null }
  // `bytes` is how many there must be before it is worth to look again.
  | { is: "incomplete"; bytes: number }
  // Another protocol.
  | { is: "other" }
  | { is: "invalid" };

// A hello has less than 2 KiB, with the keys of post-quantum cryptography too.
export const MAX_HELLO_BYTES = 32 * 1024;
const MAX_RECORDS = 32;
const MAX_RECORD_BYTES = 16 * 1024;
const RECORD_HEADER_BYTES = 5;
const HANDSHAKE_RECORD = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;
const NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?$/i;

export function readClientHello(bytes: Buffer): ClientHello {
  if (bytes.length < 2) return bytes.length === 1 && bytes[0] !== HANDSHAKE_RECORD ? { is: "other" } : { is: "incomplete", bytes: 2 };
  if (bytes[0] !== HANDSHAKE_RECORD || bytes[1] !== 3) return { is: "other" };
  const fragments: Buffer[] = [];
  let received = 0;
  let at = 0;
  // The message may be split into several records, at any byte.
  for (let records = 0; records < MAX_RECORDS; records++) {
    if (bytes.length < at + RECORD_HEADER_BYTES) return awaitBytes(at + RECORD_HEADER_BYTES);
    const length = bytes.readUInt16BE(at + 3);
    if (bytes[at] !== HANDSHAKE_RECORD || bytes[at + 1] !== 3 || length === 0 || length > MAX_RECORD_BYTES) return INVALID;
    at += RECORD_HEADER_BYTES;
    if (bytes.length < at + length) return awaitBytes(at + length);
    fragments.push(bytes.subarray(at, at + length));
    received += length;
    at += length;
    if (received < 4) continue;
    const message = fragments.length === 1 ? fragments[0]! : Buffer.concat(fragments);
    if (message[0] !== CLIENT_HELLO) return INVALID;
    const end = 4 + message.readUIntBE(1, 3);
    if (end > MAX_HELLO_BYTES) return INVALID;
    if (message.length >= end) return readMessage(message.subarray(4, end));
  }
  return INVALID;
}

const INVALID: ClientHello = { is: "invalid" };

const awaitBytes = (bytes: number): ClientHello => (bytes > MAX_HELLO_BYTES ? INVALID : { is: "incomplete", bytes });

function readMessage(message: Buffer): ClientHello {
  try {
    const hello = createReader(message);
    // Version and random.
    hello.take(34);
    hello.vector(1);
    hello.vector(2);
    hello.vector(1);
    // SSL 3 and the first TLS 1.0 clients have no extensions, and no name.
    if (hello.isAtEnd()) return { is: "hello", serverName: null };
    const extensions = createReader(hello.vector(2));
    if (!hello.isAtEnd()) return INVALID;
    return { is: "hello", serverName: readServerName(extensions) };
  } catch (error) {
    if (error instanceof MalformedHello) return INVALID;
    throw error;
  }
}

function readServerName(extensions: Reader): string | null {
  let found: string | null = null;
  while (!extensions.isAtEnd()) {
    const type = extensions.number(2);
    const data = extensions.vector(2);
    if (type !== SERVER_NAME) continue;
    const names = createReader(createReader(data).rest(2));
    if (found !== null || names.number(1) !== HOST_NAME) throw new MalformedHello();
    const name = names.rest(2).toString("latin1");
    if (name.length > 255 || !NAME.test(name)) throw new MalformedHello();
    found = name.toLowerCase().replace(/\.$/, "");
  }
  return found;
}

class MalformedHello extends Error {}

interface Reader {
  number(size: 1 | 2): number;
  take(length: number): Buffer;
  // Bytes after their length.
  vector(size: 1 | 2): Buffer;
  // The same, and nothing follows.
  rest(size: 1 | 2): Buffer;
  isAtEnd(): boolean;
}

function createReader(bytes: Buffer): Reader {
  let at = 0;
  function take(length: number): Buffer {
    if (at + length > bytes.length) throw new MalformedHello();
    at += length;
    return bytes.subarray(at - length, at);
  }
  const number = (size: 1 | 2) => take(size).readUIntBE(0, size);
  const vector = (size: 1 | 2) => take(number(size));
  const isAtEnd = () => at === bytes.length;
  return {
    number,
    take,
    vector,
    rest(size) {
      const taken = vector(size);
      if (!isAtEnd()) throw new MalformedHello();
      return taken;
    },
    isAtEnd,
  };
}
