import { basename, dirname } from "node:path";
import { gzipSync } from "node:zlib";
import { gzipBomb } from "../../isolation/limits/bombs.ts";
import { digestOf, makeImage, makeLayer, packedLayer, type Image, type Layer } from "./image.ts";
import { busyboxImage, folders } from "./images.ts";
import { tarHeader, type TarEntry } from "./tar.ts";

// Images that are dangerous to unpack. Each has a shell, so that a sandbox can start in it even if a store ignores the hostile part.
// The test then checks that nothing hostile has reached the sandbox or the machine.

// Entries that try to write outside of the root, to `outside`, an absolute path that does not exist.
export function escapingImages(outside: string): Record<string, Image> {
  const up = `${"../".repeat(12)}${outside.slice(1)}`;
  const content = "escaped\n";
  const [parent, name] = [dirname(outside), basename(outside)];
  return {
    "an absolute path": imageWith([{ path: outside, content }]),
    "a path with ..": imageWith([{ path: up, content }]),
    "a file below an absolute link": imageWith([
      { path: "way", type: "symlink", target: parent },
      { path: `way/${name}`, content },
    ]),
    "a file below a relative link": imageWith([
      { path: "way", type: "symlink", target: "../".repeat(12) + parent.slice(1) },
      { path: `way/${name}`, content },
    ]),
    "a file below a link of a lower layer": imageWith(
      [{ path: "way", type: "symlink", target: parent }],
      [{ path: `way/${name}`, content }],
    ),
    "a file through a link with its own name": imageWith([{ path: "way", type: "symlink", target: outside }], [{ path: "way", content }]),
    "a whiteout through a link": imageWith([{ path: "way", type: "symlink", target: parent }], [{ path: `way/.wh.${name}` }]),
  };
}

// Links to a file of the machine, `secret`, which a sandbox could then read or change.
export function linkingImages(secret: string): Record<string, Image> {
  return {
    "a hard link to an absolute path": imageWith([{ path: "stolen", type: "hardlink", target: secret }]),
    "a hard link to a path with ..": imageWith([{ path: "stolen", type: "hardlink", target: "../".repeat(12) + secret.slice(1) }]),
    "a hard link through a link": imageWith([
      { path: "way", type: "symlink", target: dirname(secret) },
      { path: "stolen", type: "hardlink", target: `way/${basename(secret)}` },
    ]),
  };
}

// Files that an unprivileged user could not make: a device, a set-uid shell of root, a FIFO on which a reader would wait.
export function specialFilesImage(): Image {
  return busyboxImage({}, [
    makeLayer([
      ...folders("special"),
      { path: "special/mem", type: "device", mode: 0o666 },
      { path: "special/fifo", type: "fifo", mode: 0o666 },
      { path: "special/set-uid", content: "#!/bin/sh\nid -u\n", mode: 0o6755 },
    ]),
  ]);
}

// A file of a terabyte in one block of tar.
export const sparseImage = (): Image => busyboxImage({}, [makeLayer([...folders("data"), { path: "data/sparse", sparseBytes: 2 ** 40 }])]);

// A file of zeros that is a thousandth of its size until it is unpacked; one block is 16 MiB.
export function bombImage(blocks: number): Image {
  const header = tarHeader({ path: "bomb", sizeBytes: blocks * 16 * 1024 * 1024 });
  // The real digest would take seconds to compute. A wrong one is enough: a store that compares it has unpacked the bomb already.
  return makeImage([packedLayer(Buffer.concat([gzipSync(header), gzipBomb(blocks)]), digestOf(Buffer.from("bomb")))]);
}

// Empty files.
export const manyFilesImage = (files: number): Image =>
  makeImage([makeLayer(Array.from({ length: files }, (_, index) => ({ path: `f${index}` })))]);

// Images whose content in the registry differs from their manifest. Each has a layer of its own, which no store has yet.
export function brokenImages(): Record<string, Image> {
  const [lower] = busyboxImage().layers as [Layer];
  const other = makeLayer([{ path: "other", content: "other\n" }]);
  const damaged = (name: string, damage: (layer: Layer & { content: Buffer }) => Partial<Layer>) => {
    const layer = makeLayer([{ path: "damaged", content: `${name}\n`.repeat(100) }]) as Layer & { content: Buffer };
    return makeImage([lower, { ...layer, ...damage(layer) }]);
  };
  return {
    "a layer with another digest": damaged("digest", () => ({ content: other.content, size: other.size })),
    "a layer with another size": damaged("size", ({ size }) => ({ size: size + 7 })),
    "a layer that ends early": damaged("end", ({ content }) => ({ content: content.subarray(0, content.length / 2) })),
    "a layer that unpacks to something else": damaged("diff", () => ({ diffId: other.diffId })),
    "a layer that is no archive": makeImage([lower, packedLayer(Buffer.from("no archive"), digestOf(Buffer.from("no archive")))]),
    "a layer that does not exist": withoutLast(damaged("missing", () => ({}))),
  };
}

const imageWith = (...layers: TarEntry[][]): Image => busyboxImage({}, layers.map(makeLayer));

const withoutLast = (image: Image): Image => ({ ...image, blobs: image.blobs.slice(0, -1) });
