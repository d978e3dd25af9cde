// Just enough of the WebSocket protocol (RFC 6455) to put a ping or a goodbye between two frames of a stream that is
// passed on as it is.

// Follows a stream of frames by their headers alone. `whole` is true while the last byte seen ended a frame.
export interface FrameWalker {
  readonly whole: boolean;
  // True once a close frame has passed: nothing may follow it.
  readonly closing: boolean;
  walk(bytes: Buffer): void;
}

export function createFrameWalker(): FrameWalker {
  let header = Buffer.alloc(0);
  let payloadLeft = 0;
  let closing = false;
  return {
    get whole() {
      return header.length === 0 && payloadLeft === 0;
    },
    get closing() {
      return closing;
    },
    walk(bytes) {
      let rest = bytes;
      while (rest.length > 0) {
        const skipped = Math.min(payloadLeft, rest.length);
        payloadLeft -= skipped;
        rest = rest.subarray(skipped);
        if (rest.length === 0) return;
        const missing = headerLength(header) - header.length;
        header = Buffer.concat([header, rest.subarray(0, missing)]);
        rest = rest.subarray(missing);
        if (header.length < headerLength(header)) continue;
        payloadLeft = payloadLength(header);
        closing ||= (header[0]! & 0x0f) === OPCODE.close;
        header = Buffer.alloc(0);
      }
    },
  };
}

export const pingFrame = Buffer.from([0x80 | 0x9, 0]);

export function closeFrame(code: number, reason = ""): Buffer {
  const text = Buffer.from(reason).subarray(0, 123);
  return Buffer.concat([Buffer.from([0x80 | OPCODE.close, 2 + text.length, code >> 8, code & 0xff]), text]);
}

const OPCODE = { close: 0x8 };

// How long the header is, as far as the bytes seen can tell; from a server, frames are not masked, but a hostile one may.
function headerLength(seen: Buffer): number {
  if (seen.length < 2) return 2;
  const masked = (seen[1]! & 0x80) === 0 ? 0 : 4;
  const short = seen[1]! & 0x7f;
  return 2 + masked + (short === 127 ? 8 : short === 126 ? 2 : 0);
}

function payloadLength(header: Buffer): number {
  const short = header[1]! & 0x7f;
  if (short === 126) return header.readUInt16BE(2);
  return short === 127 ? Number(header.readBigUInt64BE(2)) : short;
}
