// A value that the JSON scanner shows to its visitor.
export interface ScannedValue {
  kind: "object" | "array" | "string" | "number" | "true" | "false" | "null";
  // The first bytes of a string or number as written in the document: without quotes, with escapes.
  text: string;
  // Offsets in the document: of the first byte, and of the byte after the last.
  start: number;
  end: number;
  // An object or array without members.
  empty: boolean;
  // The names of the fields that lead to the value, joined by dots.
  path: () => string;
}

// The document is not valid JSON, or violates the scanner's stricter rules. The message completes "… is not valid: ".
export class JsonFault extends Error {}
