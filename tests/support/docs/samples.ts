import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

// A block of code in a document for partners, operators or contributors.
export interface Sample {
  // The document and the first line, by which lists of samples name it.
  name: string;
  document: string;
  language: string;
  text: string;
}

const root = join(import.meta.dirname, "../../..");
const DOCUMENTS = ["README.md", "CONTRIBUTING.md", "client/README.md", "clients/*/README.md", "docs/*.md", "examples/*/README.md"];

export function readSamples(): Sample[] {
  return globSync(DOCUMENTS, { cwd: root })
    .toSorted()
    .flatMap((document) => {
      const blocks = readFileSync(join(root, document), "utf8").matchAll(/^( *)```(\w*)\n([^]*?)^ *```$/gm);
      return [...blocks].map(([, indent = "", language = "", indented = ""]) => {
        const text = indented.replaceAll(new RegExp(`^${indent}`, "gm"), "");
        return { name: `${document}: ${text.split("\n", 1)[0]}`, document, language, text };
      });
    });
}
