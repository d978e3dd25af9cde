// The states of the JSON scanner: what it expects next. In states below STRING, white space is skipped.
export const VALUE = 0;
export const FIRST_ITEM = 1;
export const FIRST_NAME = 2;
export const NAME = 3;
export const COLON = 4;
export const AFTER_VALUE = 5;
export const DONE = 6;
export const STRING = 7;
export const FIELD_NAME = 8;
export const ESCAPE = 9;
export const HEX = 10;
export const NUMBER = 11;
export const LITERAL = 12;
