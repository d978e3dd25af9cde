import { expect, test } from "vitest";
import { contentOf } from "./content.ts";

test("an image is shown as an image however large it is", () => {
  expect(contentOf("logo.PNG", null)).toEqual({ kind: "image" });
  expect(contentOf("dump.sql", null)).toEqual({ kind: "large" });
  expect(["a.mp3", "a.webm", "a.PDF"].map((path) => contentOf(path, null).kind)).toEqual(["audio", "video", "pdf"]);
});
