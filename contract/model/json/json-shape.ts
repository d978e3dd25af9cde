// Selects the values that a scanner shows to its visitor. A value without a shape is validated and otherwise ignored. A shape
// may contain itself.
export interface Shape<Mark> {
  // Passed to the visitor with the value.
  mark?: Mark;
  fields?: ReadonlyMap<string, Shape<Mark>>;
  // The shape of the fields that `fields` does not name.
  otherFields?: Shape<Mark>;
  items?: Shape<Mark>;
}

// A shape whose fields are found by the bytes of their name, without creating a string.
export interface CompiledShape<Mark> {
  mark: Mark | undefined;
  // Whether the shape names any fields.
  hasFields: boolean;
  fields: Map<number, CompiledField<Mark>>;
  otherFields: CompiledShape<Mark> | undefined;
  items: CompiledShape<Mark> | undefined;
}

export interface CompiledField<Mark> {
  name: Uint8Array;
  shape: CompiledShape<Mark>;
}

export const NAME_HASH_SEED = 7;

// Adds a byte to the hash of a name, ignoring case. 30 bits, which V8 stores without allocating.
export function foldHash(hash: number, byte: number): number {
  const folded = byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
  return (Math.imul(hash, 31) + folded) & 0x3fffffff;
}

const compiledShapes = new WeakMap<object, unknown>();

export function compileShape<Mark>(shape: Shape<Mark>): CompiledShape<Mark> {
  const known = compiledShapes.get(shape) as CompiledShape<Mark> | undefined;
  if (known) return known;
  const hasFields = shape.fields !== undefined || shape.otherFields !== undefined;
  const compiled: CompiledShape<Mark> = { mark: shape.mark, hasFields, fields: new Map(), otherFields: undefined, items: undefined };
  // Registered before its parts, which may refer to it.
  compiledShapes.set(shape, compiled);
  for (const [name, field] of shape.fields ?? []) {
    const bytes = Buffer.from(name);
    const hash = bytes.reduce(foldHash, NAME_HASH_SEED);
    if (compiled.fields.has(hash)) throw new Error(`Two fields of a shape have the same hash; one is ${name}`);
    compiled.fields.set(hash, { name: bytes, shape: compileShape(field) });
  }
  compiled.otherFields = shape.otherFields && compileShape(shape.otherFields);
  compiled.items = shape.items && compileShape(shape.items);
  return compiled;
}

// The field with this name in any case; undefined when there is none.
export function findField<Mark>(
  { fields }: CompiledShape<Mark>,
  hash: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): CompiledShape<Mark> | undefined {
  const found = fields.get(hash);
  if (found === undefined || found.name.length !== end - start) return undefined;
  for (let i = 0; i < found.name.length; i++) {
    const byte = bytes[start + i]!;
    if (found.name[i] !== (byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte)) return undefined;
  }
  return found.shape;
}
