import { recordOf } from "../io/json-values.ts";
import { USER_NAME } from "./build-plan.ts";

export interface ImageUsers {
  // The `USER` of the image.
  user: string;
  // The users in the label `devcontainer.metadata` of images that were made for devcontainers. null: it names none.
  containerUser: string | null;
  remoteUser: string | null;
}

const LABEL = "devcontainer.metadata";

// Reads what `buildah inspect` says about an image. The last one of several entries of the label counts.
export function imageUsers(inspected: string): ImageUsers {
  const config = recordOf(recordOf(recordOf(JSON.parse(inspected)).OCIv1).config);
  const entries = [parse(recordOf(config.Labels)[LABEL])].flat().map(recordOf);
  const last = (name: "containerUser" | "remoteUser"): string | null => {
    const found = entries.findLast((entry) => name in entry)?.[name];
    return typeof found === "string" && USER_NAME.test(found) ? found : null;
  };
  return { user: typeof config.User === "string" ? config.User : "", containerUser: last("containerUser"), remoteUser: last("remoteUser") };
}

function parse(label: unknown): unknown {
  try {
    return typeof label === "string" ? JSON.parse(label) : null;
  } catch {
    return null;
  }
}
