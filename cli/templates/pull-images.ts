import type { ImageState } from "@berth/server/drivers/driver.ts";
import { openImages } from "@berth/server/drivers/oci/images/open-images.ts";
import { silentLog } from "@berth/server/log.ts";
import { loadTemplates } from "@berth/server/templates.ts";
import type { Command } from "commander";
import { readSettings } from "../installation/settings.ts";
import { escapeControls } from "../terminal/escape-controls.ts";
import { show, table } from "../terminal/output.ts";
import { usedDriver } from "./used-driver.ts";

export const addPull = (group: Command): Command =>
  group
    .command("pull [template]")
    .description("fetch the images of templates, or their newer versions")
    .option("--json", "print JSON")
    .action(pull);

// Works with and without a running server, which notices the new images.
async function pull(name: string | undefined, options: { json?: boolean }): Promise<void> {
  const config = await readSettings();
  const templates = [...loadTemplates(config.templatesFile ?? undefined).values()];
  if (name !== undefined && !templates.some((template) => template.name === name)) throw new Error(`There is no template ${name}.`);
  const driver = await usedDriver(config);
  if (driver !== "oci") throw new Error(`Only the driver oci keeps images; with ${driver}, the engine fetches them itself.`);
  const wanted = templates.filter((template) => name === undefined || template.name === name);
  const images = [...new Set(wanted.flatMap(({ image }) => image ?? []))];
  await using store = openImages(config, silentLog);
  const pulled: { image: string; digest: string | null; error: string | null }[] = [];
  for (const image of images) {
    const progress = setInterval(() => showProgress(image, store.state(image)), PROGRESS_MS);
    const result = await store.pull(image, new AbortController().signal).then(
      ({ digest }) => ({ image, digest, error: null }),
      (error: Error) => ({ image, digest: null, error: error.message }),
    );
    clearInterval(progress);
    if (process.stderr.isTTY) process.stderr.write("\r\u001b[K");
    pulled.push(result);
  }
  show(options, pulled, () =>
    table(
      pulled,
      [
        { name: "image", value: ({ image }) => image },
        { name: "digest", value: ({ digest, error }) => digest ?? error ?? "" },
      ],
      "No template names an image.",
    ),
  );
  if (pulled.some(({ error }) => error !== null)) process.exitCode = 1;
}

const PROGRESS_MS = 500;

function showProgress(image: string, state: ImageState): void {
  const percent = "percent" in state ? state.percent : undefined;
  if (process.stderr.isTTY && percent !== undefined) process.stderr.write(`\r\u001b[K${escapeControls(image)} ${percent}%`);
}
