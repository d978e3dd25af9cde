import fc from "fast-check";
import { expect, test } from "vitest";
import { createRing } from "./ring.ts";

test("a ring keeps exactly the last bytes written, at their original offsets", () => {
  const writes = fc.array(fc.uint8Array({ maxLength: 60_000 }), { maxLength: 12 });
  fc.assert(
    fc.property(writes, fc.integer({ min: 1, max: 100_000 }), fc.nat(1000), (chunks, capacity, startOffset) => {
      const ring = createRing(capacity, startOffset);
      let all = Buffer.alloc(0);
      for (const chunk of chunks) {
        ring.write(chunk);
        all = Buffer.concat([all, chunk]);
        const kept = Math.min(all.length, capacity);
        expect(ring.end).toBe(startOffset + all.length);
        expect(ring.end - ring.start).toBe(kept);
        expect(ring.read(ring.start, kept).equals(all.subarray(all.length - kept))).toBe(true);
        const middle = ring.start + Math.floor(kept / 3);
        const target = Buffer.alloc(97);
        const size = ring.readInto(target, middle);
        expect(target.subarray(0, size).equals(all.subarray(middle - startOffset, middle - startOffset + 97))).toBe(true);
      }
    }),
    { numRuns: 200 },
  );
});
