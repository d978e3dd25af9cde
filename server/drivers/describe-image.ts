import type { ImageState } from "./driver.ts";

// The state of an image in a few words for people. null if only the engine knows it.
export function describeImage(image: ImageState): string;
export function describeImage(image: ImageState | undefined): string | null;
export function describeImage(image: ImageState | undefined): string | null {
  if (!image) return null;
  if (image.state === "fetching") return `${image.percent}% fetched`;
  if (image.state === "failed") return image.sentence;
  if (image.state === "absent") return "not fetched yet";
  return image.percent === undefined ? image.digest : `${image.digest}; ${image.percent}% of a newer one`;
}
