import { join } from "node:path";
import type { TestAgent } from "../support/agents/agents.ts";
import type { ModelReply, ToolCall } from "../support/agents/model-server.ts";
import { DANGLING, FILE_KINDS, LINK } from "./file-kinds.ts";

// A tool that changes files, and answers of a model that call it.
export interface WritingTool {
  name: string;
  // Some tools exist only for some models.
  env: Record<string, string>;
  script(workspace: string, paths: readonly string[], outside: string): ModelReply[];
  // The files that it certainly changes. It may refuse others.
  changes: readonly string[];
}

const TEXTS = ["src/existing.txt", "crlf.txt", "no-newline.txt", "read-only.txt", "run.sh"];

export function writingTools(agent: TestAgent): WritingTool[] {
  const inOneAnswer = (calls: ToolCall[]): ModelReply[] => (calls.length > 0 ? [{ tools: calls }] : []);
  const existing = (paths: readonly string[]) => paths.filter((path) => FILE_KINDS.find((kind) => kind.path === path)?.content !== null);
  const reads = (paths: string[]) => inOneAnswer(agent.read ? paths.map(agent.read) : []);
  const all = (workspace: string, paths: readonly string[], outside: string) => [...paths.map((path) => join(workspace, path)), outside];
  return [
    {
      name: "write",
      env: {},
      changes: [...TEXTS, "made/by/agent.txt", "latin1.txt", "large.txt", "target.txt"],
      script: (workspace, paths, outside) => [
        ...reads(all(workspace, existing(paths), outside)),
        ...inOneAnswer(all(workspace, paths, outside).map((path) => agent.write(path, "one\nomega\n"))),
      ],
    },
    {
      name: "edit",
      env: {},
      changes: [...TEXTS, "large.txt", "target.txt"],
      script: (workspace, paths, outside) => [
        ...reads(all(workspace, existing(paths), outside)),
        ...inOneAnswer(all(workspace, existing(paths), outside).map((path) => agent.edit(path, "alpha", "omega"))),
      ],
    },
    {
      name: "shell",
      env: {},
      changes: [...TEXTS, ...Object.keys(COMMANDS), LINK, DANGLING, "moved.txt"],
      script: (workspace, paths, outside) => {
        const commands = [...paths.flatMap((path) => COMMANDS[path] ?? `sed -i s/alpha/omega/ ${path}`), `echo omega >> ${outside}`];
        return [agent.shell(`cd ${workspace} && ${commands.join(" && ")}`)];
      },
    },
    ...(agent.name === "opencode" ? [APPLY_PATCH] : []),
  ];
}

// Changes that an agent's other tools never make: delete, move, replace links by files, and change permissions.
const COMMANDS: Record<string, string> = {
  "made/by/agent.txt": "mkdir -p made/by && echo omega > made/by/agent.txt && chmod 700 made",
  "latin1.txt": "printf '\\\\351\\\\n' >> latin1.txt",
  "utf16.txt": "printf 'o\\\\000' >> utf16.txt",
  "binary.bin": "printf '\\\\000\\\\001' >> binary.bin && chmod 600 binary.bin",
  "gone.txt": "rm gone.txt && chmod 711 closed && touch closed/empty",
  "target.txt": `mv target.txt moved.txt && rm ${LINK} && echo 'no link' > ${LINK} && ln -sfn src ${DANGLING}`,
};

// Only for OpenAI's own models.
const APPLY_PATCH: WritingTool = {
  name: "apply_patch",
  env: { OPENAI_MODEL: "gpt-5" },
  changes: ["made/by/agent.txt", "src/existing.txt", "gone.txt", "target.txt", "moved.txt"],
  script(workspace, paths, outside) {
    const at = (path: string) => join(workspace, path);
    const sections: Record<string, string[]> = {
      "made/by/agent.txt": [`*** Add File: ${at("made/by/agent.txt")}`, "+omega"],
      "gone.txt": [`*** Delete File: ${at("gone.txt")}`],
      "target.txt": [`*** Update File: ${at("target.txt")}`, `*** Move to: ${at("moved.txt")}`, "@@", "-alpha", "+omega"],
      "src/existing.txt": [`*** Update File: ${at("src/existing.txt")}`, "@@", " one", "-alpha", "+omega"],
      "read-only.txt": [`*** Update File: ${at("read-only.txt")}`, "@@", "-alpha", "+omega"],
    };
    const wanted = paths.flatMap((path) => sections[path] ?? []);
    const patch = ["*** Begin Patch", ...wanted, `*** Update File: ${outside}`, "@@", "-alpha", "+omega", "*** End Patch"];
    return [{ tool: "apply_patch", input: { patchText: patch.join("\n") } }];
  },
};
