import { ApiError, type Api } from "../../connection/api.ts";
import { decodeText } from "./content.ts";

// Reads a file's text from before it was changed. The text is empty if the file is new.
export async function readOriginal(api: Api, path: string): Promise<string> {
  try {
    const response = await api.call(`api/changes/original?path=${encodeURIComponent(path)}`);
    return decodeText(new Uint8Array(await response.arrayBuffer())) ?? "";
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return "";
    throw error;
  }
}
