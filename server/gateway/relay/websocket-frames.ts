// Just enough of the WebSocket protocol (RFC 6455) to insert a ping or close frame between two frames of a relayed stream.

// Tracks frame boundaries by parsing frame headers only.
export interface FrameTracker {
  // True if the last byte ended a frame.
  readonly atBoundary: boolean;
  // True after a close frame. No frame may follow it.
  readonly closing: boolean;
  track(bytes: Buffer): void;
}

export function createFrameTracker(): FrameTracker {
  let header = NO_BYTES;
  let payloadLeft = 0;
  let closing = false;
  return {
    get atBoundary() {
      return header.length === 0 && payloadLeft === 0;
    },
    get closing() {
      return closing;
    },
    track(bytes) {
      let rest = bytes;
      while (rest.length > 0) {
        const skipped = Math.min(payloadLeft, rest.length);
        payloadLeft -= skipped;
        rest = rest.subarray(skipped);
        if (rest.length === 0) return;
        // Most frames arrive with their whole header.
        const missing = headerLength(header.length === 0 ? rest : header) - header.length;
        header = header.length === 0 ? rest.subarray(0, missing) : Buffer.concat([header, rest.subarray(0, missing)]);
        rest = rest.subarray(missing);
        if (header.length < headerLength(header)) continue;
        payloadLeft = payloadLength(header);
        closing ||= (header[0]! & 0x0f) === CLOSE_OPCODE;
        header = NO_BYTES;
      }
    },
  };
}

const NO_BYTES: Buffer = Buffer.alloc(0);

export const pingFrame = Buffer.from([0x80 | 0x9, 0]);

// Whether these bytes of a client are one answer to a ping. Clients mask their frames.
export const isPong = (bytes: Buffer): boolean => bytes[0] === (0x80 | 0xa) && bytes.length === 6 + (bytes[1]! & 0x7f);

export function closeFrame(code: number, reason = ""): Buffer {
  const text = Buffer.from(reason).subarray(0, 123);
  return Buffer.concat([Buffer.from([0x80 | CLOSE_OPCODE, 2 + text.length, code >> 8, code & 0xff]), text]);
}

const CLOSE_OPCODE = 0x8;

// The header's length as far as its first bytes tell. Servers do not mask frames, but a hostile daemon may.
function headerLength(start: Buffer): number {
  if (start.length < 2) return 2;
  const maskBytes = (start[1]! & 0x80) === 0 ? 0 : 4;
  const shortLength = start[1]! & 0x7f;
  return 2 + maskBytes + (shortLength === 127 ? 8 : shortLength === 126 ? 2 : 0);
}

function payloadLength(header: Buffer): number {
  const shortLength = header[1]! & 0x7f;
  if (shortLength === 126) return header.readUInt16BE(2);
  return shortLength === 127 ? Number(header.readBigUInt64BE(2)) : shortLength;
}
