import type { Uses } from "./actions.ts";

// Asks for a repository and clones it in a terminal, where git can ask for credentials and report its progress. In an empty
// workspace the repository becomes the workspace.
export async function cloneRepository({ dialogs, files, terminals }: Uses<"dialogs" | "files" | "terminals">): Promise<void> {
  const answer = await dialogs.ask({
    title: "Clone a git repository",
    choices: [{ id: "clone", label: "Clone", kind: "primary" }],
    input: {
      label: "URL of the repository",
      value: "",
      error: (url) => (/^\S+$/.test(url.trim()) ? null : "Enter a URL, such as https://github.com/owner/name.git"),
    },
  });
  if (answer === null) return;
  const isEmpty = files.store.getState().folders[""]?.length === 0;
  await terminals.run(["git", "clone", "--", answer.value.trim(), ...(isEmpty ? ["."] : [])], "git clone");
}
