import type { Template } from "@berth/contract";
import type { Config } from "../config/config.ts";
import { describeImage } from "../drivers/describe-image.ts";
import { readImageState } from "../drivers/oci/images/image-state.ts";
import { missingTools } from "../drivers/oci/images/fetching/image-tools.ts";
import type { Finding } from "./finding.ts";

// The images of templates on this machine. Other drivers than oci leave images to their engine.
export function checkImages({ dataDir }: Pick<Config, "dataDir">, driver: string, templates: readonly Template[]): Finding[] {
  if (driver !== "oci") return [];
  const topic = "images";
  const names = [...new Set(templates.flatMap(({ image }) => image ?? []))];
  const missing = missingTools();
  if (missing !== undefined)
    return [
      { topic, state: names.length > 0 ? "bad" : "note", text: `${missing.replace(/^i/, "I")}.`, cure: "Templates without an image work." },
    ];
  return names.map((name) => {
    const image = readImageState(dataDir, name);
    const text = `${name}: ${describeImage(image)}${image.state === "failed" ? "." : ""}`;
    return {
      topic,
      text,
      ...(image.state === "ready" ? { state: "good" } : { state: image.state === "failed" ? "bad" : "note", cure: CURE }),
    };
  });
}

const CURE = "A running server tries to fetch it every minute, and `berth template pull` does so at once.";
