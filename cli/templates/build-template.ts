import { DEFAULT_TEMPLATE, type SnapshotId, type Template } from "@berth/contract";
import { adoptSnapshot } from "@berth/server/store/snapshots/write.ts";
import { DEFAULT_TEMPLATE as DEFAULTS, loadTemplates, TEMPLATE_NAME } from "@berth/server/templates.ts";
import type { Command } from "commander";
import { withStore } from "../context.ts";
import { readGitSource, type GitOptions } from "../installation/git-source.ts";
import { withServer } from "../installation/server-call.ts";
import { readSettings } from "../installation/settings.ts";
import { noteMore, show } from "../terminal/output.ts";
import { setUpRepository } from "./set-up-repository.ts";

interface Options extends GitOptions {
  name: string;
  template: string;
  json?: boolean;
}

export const addBuild = (group: Command): Command =>
  group
    .command("build <repository>")
    .description("make a template of a repository, with the image of its devcontainer and its files after their setup")
    .requiredOption("--name <name>", "the name of the new template")
    .option("--template <name>", "the template in which it is built and set up", DEFAULT_TEMPLATE)
    .option("--ref <name>", "its branch, tag or commit")
    .option("--git-token-file <path>", "a file with a token for it, which never enters the sandbox")
    .option("--json", "print JSON")
    .action(build);

// A session of the running server does the work, so the image and the files are those that a user of the repository would get.
async function build(repository: string, options: Options): Promise<void> {
  if (!TEMPLATE_NAME.test(options.name))
    throw new Error(`${options.name} is no name for a template: use lower-case letters, digits and hyphens.`);
  if (!/^https?:\/\//.test(repository))
    throw new Error("Name the address of a repository that the server can fetch, beginning with https://.");
  const { templatesFile } = await readSettings();
  const templates = loadTemplates(templatesFile ?? undefined);
  const template = templates.get(options.template);
  if (!template) throw new Error(`There is no template ${options.template}.`);
  const git = await readGitSource(repository, options);
  const interrupted = abortOnSignals();
  await withServer(async (server) => {
    const wanted = { git, template: options.template, name: options.name };
    const { image, snapshotId } = await setUpRepository(server, wanted, interrupted);
    await adopt(snapshotId as SnapshotId);
    if (image === undefined && !template.allowBuilds) noteMore(notBuilt(template));
    const entry = { ...ownFields(template), ...(image !== undefined && { image }), snapshot: snapshotId };
    const next = nextStep(options.name, templates.get(options.name));
    show(options, { [options.name]: entry }, () => `${JSON.stringify({ [options.name]: entry }, null, 2)}\n\n${next}\n`);
  }).catch((error: unknown) => {
    if (!interrupted.aborted) throw error;
    noteMore("Interrupted. No template was made.");
    process.exitCode = INTERRUPTED;
  });
}

const INTERRUPTED = 130;

function abortOnSignals(): AbortSignal {
  const abort = new AbortController();
  // A second signal ends the process.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => abort.abort());
  return abort.signal;
}

const adopt = (snapshotId: SnapshotId): Promise<void> =>
  withStore(({ change }) =>
    change(async (tx, note) => {
      await note("snapshot.adopt", "operator", snapshotId);
      if (!(await adoptSnapshot(tx, snapshotId))) throw new Error(`The snapshot ${snapshotId} is not ready.`);
    }),
  );

const notBuilt = ({ name }: Template): string =>
  `The image is that of the template ${name}, which allows no builds. If devcontainer.json has a build or features, set allowBuilds in ${name}, and run this again.`;

// The server keeps the image and the files as long as the snapshot.
function nextStep(name: string, before: Template | undefined): string {
  const entry = "to the file that BERTH_TEMPLATES names, and restart the server.";
  if (!before) return `Add this entry ${entry}`;
  const old = before.snapshot === undefined ? "" : ` Then \`berth snapshot delete ${before.snapshot}\` frees the disk of the old one.`;
  return `There is a template ${name} already. Add this entry in its place ${entry}${old}`;
}

// The fields of the template that differ from their defaults, except for those that the image and the files replace.
const ownFields = (template: Template): Partial<Template> =>
  Object.fromEntries(
    Object.entries(template).filter(
      ([name, value]) => !REPLACED.has(name) && JSON.stringify(value) !== JSON.stringify(DEFAULTS[name as keyof Template]),
    ),
  );

const REPLACED = new Set<string>(["name", "root", "image", "snapshot", "setup", "fallbackAgents"] satisfies (keyof Template)[]);
