import { isUtf8 } from "node:buffer";
import { AppError } from "@berth/contract";

export interface Edit {
  oldText: string;
  newText: string;
  replaceAll?: boolean;
}

// Makes all edits, one after the other, or throws if one of them does not fit.
export function applyEdits(content: Buffer, edits: readonly Edit[]): Buffer {
  if (!isUtf8(content)) throw new AppError("bad_request", { message: "The file is not text in UTF-8" });
  let text = content.toString();
  edits.forEach(({ oldText, newText, replaceAll = false }, i) => {
    const first = text.indexOf(oldText);
    if (first < 0) throw misfit(i, "Is not in the file; read the file again and copy the text exactly");
    if (!replaceAll && text.includes(oldText, first + 1))
      throw misfit(i, "Is in the file more than once; add lines around it, or set replaceAll");
    // Functions, because `$` has a meaning in a text.
    text = replaceAll ? text.replaceAll(oldText, () => newText) : text.replace(oldText, () => newText);
  });
  return Buffer.from(text);
}

const misfit = (index: number, message: string) =>
  new AppError("validation_failed", { details: [{ field: `edits.${index}.oldText`, message }] });
