// Servers differ in how they read a part of a path: some decode it more than once, take `\\` for `/`, end it at a NUL or ignore
// parameters after `;`. None of these readings of a harmless path, whose dot segments are resolved, leads out of a folder.
export const isHarmlessPath = (pathname: string): boolean => pathname.split("/").every(isHarmless);

function isHarmless(part: string): boolean {
  let text = part;
  for (let round = 0; round < MAX_DECODINGS; round++) {
    if (/\p{Cc}/u.test(text) || text.split(/[/\\]/).some((name) => /^\.\.?$/.test(name.split(";")[0]!.trim()))) return false;
    const decoded = decode(text);
    if (decoded === text) return true;
    // A sign of percent that encodes nothing is text, unless the sandbox sent it as it is.
    if (decoded === null) return round > 0;
    text = decoded;
  }
  return false;
}

const MAX_DECODINGS = 4;

// null: it is not valid.
function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
