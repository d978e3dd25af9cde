import { createHash } from "node:crypto";
import { zipSync } from "fflate";

// A wheel is a zip of the package and of what installers want to know about it. The same files make the same bytes.

export interface WheelFacts {
  name: string;
  version: string;
  summary: string;
  license: string;
  requiresPython: string;
  requires: string[];
  readme: string;
}

// The first date that a zip can have.
const MTIME = new Date(1980, 0, 1);

export const wheelName = ({ name, version }: Pick<WheelFacts, "name" | "version">): string => `${name}-${version}-py3-none-any.whl`;

export function packWheel(facts: WheelFacts, files: Record<string, string>): Uint8Array {
  const info = `${facts.name}-${facts.version}.dist-info`;
  const all = new Map(
    Object.entries({ ...files, [`${info}/METADATA`]: metadata(facts), [`${info}/WHEEL`]: WHEEL }).map(([path, text]) => [
      path,
      Buffer.from(text),
    ]),
  );
  const record = [...all].map(
    ([path, bytes]) => `${path},sha256=${createHash("sha256").update(bytes).digest("base64url")},${bytes.length}`,
  );
  all.set(`${info}/RECORD`, Buffer.from(`${[...record, `${info}/RECORD,,`].join("\n")}\n`));
  // As files of a Unix system that everybody may read.
  return zipSync(Object.fromEntries(all), { mtime: MTIME, os: 3, attrs: 0o100644 << 16 });
}

const WHEEL = "Wheel-Version: 1.0\nGenerator: berth\nRoot-Is-Purelib: true\nTag: py3-none-any\n";

function metadata({ name, version, summary, license, requiresPython, requires, readme }: WheelFacts): string {
  const lines = [
    "Metadata-Version: 2.1",
    `Name: ${name}`,
    `Version: ${version}`,
    `Summary: ${summary}`,
    `License: ${license}`,
    `Requires-Python: ${requiresPython}`,
    ...requires.map((requirement) => `Requires-Dist: ${requirement}`),
    "Description-Content-Type: text/markdown",
  ];
  return `${lines.join("\n")}\n\n${readme}`;
}
