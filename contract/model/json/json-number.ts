// A state machine for the grammar of JSON numbers.
const MINUS = 0;
const ZERO = 1;
const INTEGER = 2;
const POINT = 3;
const FRACTION = 4;
const EXPONENT = 5;
const EXPONENT_SIGN = 6;
const EXPONENT_DIGITS = 7;
const MAY_END = [false, true, true, false, true, false, false, true];

export const firstNumberState = (byte: number): number => (byte === 0x2d ? MINUS : byte === 0x30 ? ZERO : INTEGER);

export const mayEndNumber = (state: number): boolean => MAY_END[state]!;

// Returns -1 if the byte does not continue the number.
export function numberStateAfter(state: number, byte: number): number {
  if (isDigit(byte)) {
    if (state === INTEGER || state === FRACTION || state === EXPONENT_DIGITS) return state;
    if (state === MINUS) return byte === 0x30 ? ZERO : INTEGER;
    if (state === POINT) return FRACTION;
    return state === EXPONENT || state === EXPONENT_SIGN ? EXPONENT_DIGITS : -1;
  }
  if (byte === 0x2e) return state === ZERO || state === INTEGER ? POINT : -1;
  if ((byte | 0x20) === 0x65) return state === ZERO || state === INTEGER || state === FRACTION ? EXPONENT : -1;
  return (byte === 0x2b || byte === 0x2d) && state === EXPONENT ? EXPONENT_SIGN : -1;
}

export const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;
