// Bytes of the first message of TLS connections.

export const SERVER_NAME = 0;
export const ENCRYPTED_CLIENT_HELLO = 0xfe0d;

const number = (value: number, size: number) => {
  const bytes = Buffer.alloc(size);
  bytes.writeUIntBE(value, 0, size);
  return bytes;
};
const vector = (size: number, ...parts: Buffer[]) => {
  const bytes = Buffer.concat(parts);
  return Buffer.concat([number(bytes.length, size), bytes]);
};

export const extension = (type: number, data: Buffer) => Buffer.concat([number(type, 2), vector(2, data)]);

export const serverName = (...names: string[]) =>
  extension(SERVER_NAME, vector(2, ...names.map((name) => Buffer.concat([number(0, 1), vector(2, Buffer.from(name, "latin1"))]))));

// A ClientHello with these extensions, without the record around it. null: without the field of extensions.
export function helloMessage(extensions: readonly Buffer[] | null): Buffer {
  const fields = [
    number(0x0303, 2),
    Buffer.alloc(32, 7),
    vector(1, Buffer.alloc(32, 8)),
    vector(2, number(0x1301, 2)),
    vector(1, Buffer.alloc(1)),
  ];
  if (extensions) fields.push(vector(2, ...extensions));
  return Buffer.concat([number(1, 1), vector(3, ...fields)]);
}

// The message in records of at most this many bytes.
export function records(message: Buffer, bytesPerRecord = 16_384): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < message.length; at += bytesPerRecord)
    parts.push(Buffer.concat([number(22, 1), number(0x0301, 2), vector(2, message.subarray(at, at + bytesPerRecord))]));
  return Buffer.concat(parts);
}

export const hello = (...extensions: Buffer[]): Buffer => records(helloMessage(extensions));
