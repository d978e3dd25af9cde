import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { closeFrame, createFrameTracker } from "./websocket-frames.ts";

const payload = fc.oneof(fc.uint8Array({ maxLength: 130 }), fc.uint8Array({ minLength: 65_500, maxLength: 65_600, size: "max" }));

describe("a frame tracker", () => {
  test("reports a boundary exactly at the end of each frame, however the bytes are split", () => {
    fc.assert(
      fc.property(
        fc.array(payload, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        fc.integer({ min: 1, max: 5000 }),
        (payloads, mask, step) => {
          const frames = payloads.map((data) => frameOf(Buffer.from(data), { mask }));
          const ends = new Set(frames.map((_, i) => Buffer.concat(frames.slice(0, i + 1)).length));
          const stream = Buffer.concat(frames);
          const tracker = createFrameTracker();
          for (let at = 0; at < stream.length; at += step) {
            tracker.track(stream.subarray(at, at + step));
            expect(tracker.atBoundary).toBe(ends.has(Math.min(at + step, stream.length)));
          }
          expect(tracker.closing).toBe(false);
        },
      ),
      { numRuns: 20 },
    );
  });

  test("reports a close frame", () => {
    const tracker = createFrameTracker();
    tracker.track(closeFrame(4404));
    expect([tracker.atBoundary, tracker.closing]).toEqual([true, true]);
  });

  test("never throws on garbage", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), (parts) => {
        const tracker = createFrameTracker();
        for (const part of parts) tracker.track(Buffer.from(part));
        expect(typeof tracker.atBoundary).toBe("boolean");
      }),
    );
  });
});

function frameOf(data: Buffer, { mask }: { mask: boolean }): Buffer {
  const bit = mask ? 0x80 : 0;
  const length = data.length < 126 ? [bit | data.length] : data.length < 65_536 ? [bit | 126, data.length >> 8, data.length & 255] : null;
  const long = Buffer.alloc(9, bit | 127);
  long.writeBigUInt64BE(BigInt(data.length), 1);
  return Buffer.concat([Buffer.from([0x82]), length ? Buffer.from(length) : long, Buffer.alloc(mask ? 4 : 0, 7), data]);
}
