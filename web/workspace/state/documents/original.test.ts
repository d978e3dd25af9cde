import { expect, test } from "vitest";
import { createApi } from "../../connection/api.ts";
import { readOriginal } from "./original.ts";

const apiWith = (response: Response) => createApi("/workspace/sbx_1/", { send: async () => response });

test("an original is a text, not a text, or missing because the file is new", async () => {
  expect(await readOriginal(apiWith(new Response("before\n")), "a.txt")).toEqual({ kind: "text", text: "before\n" });
  expect(await readOriginal(apiWith(new Response(new Uint8Array([0, 1, 2]))), "a.bin")).toEqual({ kind: "binary", size: 3 });
  expect(await readOriginal(apiWith(new Response("{}", { status: 404 })), "a.txt")).toEqual({ kind: "none" });
});
