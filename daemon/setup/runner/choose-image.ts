import type { SetupImage } from "@berth/contract/daemon-internal.ts";
import { isImageAllowed } from "@berth/contract/matching/image-patterns.ts";

// Whether the sandbox starts again in the image that the repository names, and a sentence about it for people.
export function chooseImage(image: string, { allowed, used, failed, reason }: SetupImage): { restart: boolean; sentence: string } {
  if (image === used) return { restart: false, sentence: `This sandbox runs in the image ${image} of devcontainer.json.` };
  const keep = (why: string) => ({ restart: false, sentence: `devcontainer.json: the image ${image} is not used, because ${why}` });
  if (allowed === null) return keep("sandboxes of this server have no images. They have them with every driver but process.");
  if (image === failed)
    return keep(
      `no sandbox could be started in it. ${reason ?? "An image must be made for this machine's processor"}. The log of the server says more.`,
    );
  if (!isImageAllowed(image, allowed))
    return keep("the template does not allow it. An operator can add it to the template's allowedImages.");
  return { restart: true, sentence: `Starting this sandbox again in the image ${image} of devcontainer.json. Its files are kept.` };
}
