import { lookup } from "node:dns/promises";
import { setTimeout as delay } from "node:timers/promises";
import { previewDomainOf, type Config } from "../config/config.ts";
import type { Finding } from "./finding.ts";

// A name server may never answer.
const TIMEOUT_MS = 1_000;

// Previews on localhost have names below it. Browsers know them, but other programs ask the system. `resolve` is for tests.
export async function checkLocalhostNames(config: Config, resolve: (name: string) => Promise<unknown> = lookup): Promise<Finding[]> {
  const domain = previewDomainOf(config, config.baseUrl ?? "http://localhost") ?? "";
  if (!/(^|\.)localhost(:|$)/.test(domain)) return [];
  const isKnown = resolve("preview.localhost").then(
    () => true,
    () => false,
  );
  const topic = "names";
  if (await Promise.race([isKnown, delay(TIMEOUT_MS, false, { ref: false })]))
    return [{ topic, state: "good", text: "names below localhost, where previews are, resolve on this system" }];
  return [
    {
      topic,
      state: "note",
      text: "This system does not resolve names below localhost, so Node and Python do not find previews there; browsers do.",
      cure: "Install libnss-myhostname, or see docs/e2b.md.",
    },
  ];
}
