import { createHash, type Hash } from "node:crypto";
import type { Template } from "@berth/contract";
import { BUILT_PREFIX } from "../drivers/oci/images/fetching/image-source.ts";

// The name of an image that was built for a repository, by what it was built from.
export const builtImageName = (digest: string): string => `${BUILT_PREFIX}${digest.slice(0, 32)}`;

export const isBuiltImage = (image: string): boolean => image.startsWith(BUILT_PREFIX);

// Identifies what an image is built from, when it has been updated with the archive. Builds with another template may reach other hosts,
// and so have another result.
export const buildHash = ({ name, egress }: Pick<Template, "name" | "egress">): Hash =>
  createHash("sha256").update(JSON.stringify([name, egress]));
