import { createFieldNames, MAX_DEPTH, MAX_TEXT_BYTES } from "./json-field-names.ts";
import { firstNumberState, isDigit, mayEndNumber, numberStateAfter } from "./json-number.ts";
import { type CompiledShape, compileShape, findField, foldHash, NAME_HASH_SEED, type Shape } from "./json-shape.ts";
import {
  AFTER_VALUE,
  COLON,
  DONE,
  ESCAPE,
  FIELD_NAME,
  FIRST_ITEM,
  FIRST_NAME,
  HEX,
  LITERAL,
  NAME,
  NUMBER,
  STRING,
  VALUE,
} from "./json-states.ts";
import { JsonFault, type ScannedValue } from "./json-value.ts";

// Validates one JSON document (RFC 8259) as its bytes arrive, and calls a visitor for the values that a shape names. It builds
// no objects: time is linear in the bytes and memory is fixed, whatever the document.
//
// No two parsers may read the values of a shape differently. An object with a shape therefore has each field only once,
// ignoring case as some parsers do, and its field names are plain ASCII without escapes.
export interface JsonScanner {
  // Throws a JsonFault at the first invalid byte.
  write(bytes: Uint8Array): void;
  // Ends the document. Throws a JsonFault if it is incomplete.
  end(): void;
  // Prepares for the next document.
  reset(): void;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ESCAPES = new Set(Buffer.from('"\\/bfnrtu'));
const LITERALS = new Map((["true", "false", "null"] as const).map((word) => [word.charCodeAt(0), word]));

export function createJsonScanner<Mark>(shape: Shape<Mark>, visit: (mark: Mark, value: ScannedValue) => void): JsonScanner {
  const root = compileShape(shape);
  // These hold the type, start, shape and field names of each open container.
  const isObject = new Uint8Array(MAX_DEPTH);
  const hasMembers = new Uint8Array(MAX_DEPTH);
  const starts = new Float64Array(MAX_DEPTH);
  const shapes: (CompiledShape<Mark> | undefined)[] = Array.from({ length: MAX_DEPTH });
  const names = createFieldNames();
  let depth = 0;

  let state = VALUE;
  // Describe the value that is read now or next.
  let current: CompiledShape<Mark> | undefined = root;
  let startedAt = 0;
  let inName = false;
  let hexLeft = 0;
  let nameHash = 0;
  let hasCapitals = false;
  let numberState = 0;
  let literal: "true" | "false" | "null" = "null";
  let literalAt = 0;
  // The first bytes of a string or number for the visitor.
  const text = Buffer.alloc(MAX_TEXT_BYTES);
  let textLength = 0;
  // The position of the current chunk in the document.
  let offset = 0;
  const path = (): string => names.path(depth);

  return {
    write(bytes) {
      let at = 0;
      while (at < bytes.length) {
        if (state < STRING) at = readStructure(bytes, at);
        else if (state === STRING) at = readString(bytes, at);
        else if (state === FIELD_NAME) at = readFieldName(bytes, at);
        else if (state === NUMBER) at = readNumber(bytes, at);
        else at = readSingleByte(bytes, at);
      }
      offset += bytes.length;
    },
    end() {
      if (state === NUMBER) endNumber(0);
      if (state !== DONE) throw new JsonFault("it is incomplete");
    },
    reset() {
      depth = 0;
      state = VALUE;
      current = root;
      offset = 0;
    },
  };

  // Reads up to the next string, number or literal.
  function readStructure(bytes: Uint8Array, from: number): number {
    let at = from;
    for (; at < bytes.length && state < STRING; at++) {
      const byte = bytes[at]!;
      switch (byte) {
        case 0x20: // white space
        case 0x0a:
        case 0x0d:
        case 0x09:
          continue;
        case 0x2c: // ,
          if (state !== AFTER_VALUE) throw unexpected(at);
          if (isObject[depth - 1] === 1) state = NAME;
          else {
            state = VALUE;
            current = shapes[depth - 1]?.items;
          }
          continue;
        case 0x3a: // :
          if (state !== COLON) throw unexpected(at);
          state = VALUE;
          continue;
        case 0x7b: // {
        case 0x5b: // [
          beginValue(at);
          openContainer(byte === 0x7b ? 1 : 0);
          continue;
        case 0x7d: // }
          if (state !== FIRST_NAME && !(state === AFTER_VALUE && isObject[depth - 1] === 1)) throw unexpected(at);
          closeContainer(at);
          continue;
        case 0x5d: // ]
          if (state !== FIRST_ITEM && !(state === AFTER_VALUE && isObject[depth - 1] === 0)) throw unexpected(at);
          closeContainer(at);
          continue;
        case QUOTE:
          if (state === NAME || state === FIRST_NAME) beginName();
          else {
            beginValue(at);
            state = STRING;
          }
          continue;
        default:
          beginValue(at);
          beginScalar(byte, at);
      }
    }
    return at;
  }

  function beginValue(at: number): void {
    if (state !== VALUE && state !== FIRST_ITEM) throw unexpected(at);
    if (depth > 0) hasMembers[depth - 1] = 1;
    startedAt = offset + at;
    textLength = 0;
    inName = false;
  }

  function beginScalar(byte: number, at: number): void {
    if (byte === 0x2d || isDigit(byte)) {
      state = NUMBER;
      numberState = firstNumberState(byte);
      text[textLength++] = byte;
      return;
    }
    const word = LITERALS.get(byte);
    if (word === undefined) throw unexpected(at);
    state = LITERAL;
    literal = word;
    literalAt = 1;
  }

  function openContainer(object: 0 | 1): void {
    if (depth === MAX_DEPTH) throw new JsonFault(`it is nested deeper than ${MAX_DEPTH} levels`);
    isObject[depth] = object;
    hasMembers[depth] = 0;
    starts[depth] = startedAt;
    shapes[depth] = current;
    names.open(depth, object === 1);
    depth++;
    if (object === 1) state = FIRST_NAME;
    else {
      state = FIRST_ITEM;
      current = current?.items;
    }
  }

  function closeContainer(at: number): void {
    depth--;
    current = shapes[depth];
    startedAt = starts[depth]!;
    endValue(isObject[depth] === 1 ? "object" : "array", at + 1);
  }

  function endValue(kind: ScannedValue["kind"], behind: number): void {
    state = depth === 0 ? DONE : AFTER_VALUE;
    if (current === undefined || current.mark === undefined) return;
    const shown = kind === "string" || kind === "number" ? text.toString("latin1", 0, textLength) : "";
    const empty = (kind === "object" || kind === "array") && hasMembers[depth] === 0;
    visit(current.mark, { kind, text: shown, start: startedAt, end: offset + behind, empty, path });
  }

  function beginName(): void {
    hasMembers[depth - 1] = 1;
    textLength = 0;
    nameHash = NAME_HASH_SEED;
    hasCapitals = false;
    inName = true;
    state = shapes[depth - 1]?.hasFields ? FIELD_NAME : STRING;
  }

  function readString(bytes: Uint8Array, from: number): number {
    let at = from;
    let byte = 0;
    while (at < bytes.length && (byte = bytes[at]!) !== QUOTE && byte !== BACKSLASH && byte >= 0x20) at++;
    if (!inName && current?.mark !== undefined) keepText(bytes, from, at);
    if (at === bytes.length) return at;
    if (byte === BACKSLASH) {
      state = ESCAPE;
      if (textLength < MAX_TEXT_BYTES) text[textLength++] = byte;
    } else if (byte !== QUOTE) throw unexpected(at);
    else if (inName) {
      state = COLON;
      current = undefined;
    } else endValue("string", at + 1);
    return at + 1;
  }

  function keepText(bytes: Uint8Array, from: number, to: number): void {
    for (let at = from; at < to && textLength < MAX_TEXT_BYTES; at++) text[textLength++] = bytes[at]!;
  }

  // Reads a field name in an object that has a shape.
  function readFieldName(bytes: Uint8Array, from: number): number {
    const base = (depth - 1) * MAX_TEXT_BYTES;
    const nameBytes = names.bytes;
    let at = from;
    for (; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (byte === QUOTE) {
        names.setLength(depth - 1, textLength);
        endFieldName(shapes[depth - 1]!);
        return at + 1;
      }
      if (byte === BACKSLASH || byte < 0x20 || byte > 0x7e || textLength === MAX_TEXT_BYTES) {
        names.setLength(depth - 1, 0);
        throw new JsonFault(`a field name below "${path()}" is too long, escaped or not plain ASCII`);
      }
      if (byte >= 0x41 && byte <= 0x5a) hasCapitals = true;
      nameBytes[base + textLength++] = byte;
      nameHash = foldHash(nameHash, byte);
    }
    return at;
  }

  function endFieldName(parent: CompiledShape<Mark>): void {
    names.add(depth - 1, nameHash);
    const start = (depth - 1) * MAX_TEXT_BYTES;
    const found = findField(parent, nameHash, names.bytes, start, start + textLength);
    if (found !== undefined && hasCapitals) throw new JsonFault(`the field "${path()}" must be in lower case`);
    current = found ?? parent.otherFields;
    state = COLON;
  }

  function readNumber(bytes: Uint8Array, from: number): number {
    let at = from;
    for (; at < bytes.length; at++) {
      const byte = bytes[at]!;
      const next = numberStateAfter(numberState, byte);
      if (next < 0) {
        endNumber(at);
        return at;
      }
      numberState = next;
      if (textLength < MAX_TEXT_BYTES) text[textLength++] = byte;
    }
    return at;
  }

  function endNumber(behind: number): void {
    if (!mayEndNumber(numberState)) throw unexpected(behind);
    endValue("number", behind);
  }

  // Reads one byte of an escape or a literal.
  function readSingleByte(bytes: Uint8Array, at: number): number {
    const byte = bytes[at]!;
    if (state === LITERAL) {
      if (byte !== literal.charCodeAt(literalAt)) throw unexpected(at);
      if (++literalAt === literal.length) endValue(literal, at + 1);
      return at + 1;
    }
    if (state === ESCAPE) {
      if (!ESCAPES.has(byte)) throw unexpected(at);
      state = byte === 0x75 ? HEX : STRING;
      hexLeft = 4;
    } else {
      if (!isDigit(byte) && !((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66)) throw unexpected(at);
      if (--hexLeft === 0) state = STRING;
    }
    if (textLength < MAX_TEXT_BYTES) text[textLength++] = byte;
    return at + 1;
  }

  function unexpected(at: number): JsonFault {
    return new JsonFault(`byte ${offset + at} is unexpected`);
  }
}
