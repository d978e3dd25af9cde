import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

// A block of code in a document for partners, operators or contributors.
export interface Sample {
  // The document and the first line, by which lists of samples name it.
  name: string;
  document: string;
  language: string;
  text: string;
  // The text between the previous block and this one.
  before: string;
}

const root = join(import.meta.dirname, "../../..");
const DOCUMENTS = ["README.md", "CONTRIBUTING.md", "client/README.md", "clients/*/README.md", "docs/*.md", "examples/*/README.md"];

export const readSamples = (): Sample[] =>
  globSync(DOCUMENTS, { cwd: root })
    .toSorted()
    .flatMap((document) => samplesOf(document));

export function samplesOf(document: string): Sample[] {
  const page = readFileSync(join(root, document), "utf8");
  let end = 0;
  return [...page.matchAll(/^( *)```(\w*)\n([^]*?)^ *```$/gm)].map(
    ({ index, 0: block, 1: indent = "", 2: language = "", 3: indented = "" }) => {
      const text = indented.replaceAll(new RegExp(`^${indent}`, "gm"), "");
      const before = page.slice(end, index).trim();
      end = index + block.length;
      return { name: `${document}: ${text.split("\n", 1)[0]}`, document, language, text, before };
    },
  );
}

// Blocks in these languages that follow each other are one sample in several languages.
export function inLanguages(samples: Sample[], languages: string[]): Sample[][] {
  const groups: Sample[][] = [];
  let group: Sample[] = [];
  for (const sample of samples) {
    const isNext =
      sample.before === "" && sample.document === group.at(-1)?.document && !group.some(({ language }) => language === sample.language);
    if (!languages.includes(sample.language)) group = [];
    else if (isNext) group.push(sample);
    else groups.push((group = [sample]));
  }
  return groups;
}
