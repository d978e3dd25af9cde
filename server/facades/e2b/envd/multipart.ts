import { PassThrough, type Readable } from "node:stream";
import { AppError } from "@berth/contract";

export interface Part {
  // The `filename` of its head; empty if it has none.
  fileName: string;
  isFile: boolean;
  body: Readable;
}

const MAX_HEAD_BYTES = 16 * 1024;
const MAX_PARTS = 1000;

// Reads the parts of a form one after the other, without keeping them in memory. `handle` must read the body of each part or destroy it.
export async function readMultipart(source: Readable, contentType: string, handle: (part: Part) => Promise<void>): Promise<void> {
  const [, quoted, plain] = /boundary=(?:"([^"]{1,70})"|([^\s;]{1,70}))/i.exec(contentType) ?? [];
  const name = quoted ?? plain;
  if (name === undefined) throw malformed("it names no boundary");
  const input = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  // Every boundary but the first begins with a line break, so one is put before it.
  const boundary = Buffer.from(`\r\n--${name}`);
  let buffered: Buffer = Buffer.from("\r\n");

  // Adds more of the source; false at its end.
  async function more(): Promise<boolean> {
    const { value, done } = await input.next();
    if (done) return false;
    buffered = buffered.length === 0 ? value : Buffer.concat([buffered, value]);
    return true;
  }

  // The bytes up to the next boundary, which is removed.
  async function* untilBoundary(): AsyncGenerator<Buffer> {
    for (;;) {
      const at = buffered.indexOf(boundary);
      if (at >= 0) {
        const last = buffered.subarray(0, at);
        buffered = buffered.subarray(at + boundary.length);
        if (last.length > 0) yield last;
        return;
      }
      const safe = buffered.length - boundary.length;
      if (safe > 0) {
        const some = buffered.subarray(0, safe);
        buffered = buffered.subarray(safe);
        yield some;
      }
      if (!(await more())) throw malformed("it ends too early");
    }
  }

  async function take(until: string, maxBytes: number): Promise<string> {
    for (;;) {
      const at = buffered.indexOf(until);
      if (at >= 0 && at <= maxBytes) {
        const text = buffered.toString("utf8", 0, at);
        buffered = buffered.subarray(at + until.length);
        return text;
      }
      if (buffered.length > maxBytes || !(await more())) throw malformed("the head of a part has no end");
    }
  }

  for await (const _preamble of untilBoundary());
  for (let count = 0; ; count++) {
    while (buffered.length < 2) if (!(await more())) throw malformed("it ends too early");
    if (buffered.toString("latin1", 0, 2) === "--") break;
    if (count === MAX_PARTS) throw malformed(`it has more than ${MAX_PARTS} parts`);
    const head = await take("\r\n\r\n", MAX_HEAD_BYTES);
    await handlePart(head);
  }
  for (;;) if ((await input.next()).done) return;

  async function handlePart(head: string): Promise<void> {
    const body = new PassThrough();
    body.on("error", () => {});
    const handling = handle({ ...nameOf(head), body });
    // The reader may fail before the part is over; the next one begins after it anyway.
    handling.catch(() => body.destroy());
    for await (const chunk of untilBoundary())
      if (!body.destroyed && !body.write(chunk))
        await new Promise<void>((resolve) => void body.once("drain", resolve).once("close", resolve));
    body.end();
    await handling;
  }
}

function nameOf(head: string): { fileName: string; isFile: boolean } {
  const disposition = /^content-disposition:(.*)$/im.exec(head)?.[1] ?? "";
  const name = /[;\s]name="([^"]*)"/i.exec(disposition)?.[1] ?? "";
  const fileName = /[;\s]filename="([^"]*)"/i.exec(disposition)?.[1] ?? "";
  // The three characters that browsers encode.
  const decoded = fileName.replaceAll(/%(22|0D|0A)/gi, (text) => decodeURIComponent(text));
  return { fileName: decoded, isFile: name === "file" };
}

const malformed = (why: string) => new AppError("bad_request", { message: `The form cannot be read: ${why}` });
