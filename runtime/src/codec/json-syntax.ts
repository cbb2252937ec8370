/** The structural characters of JSON (RFC 8259, section 2) as character codes, and the limit on nesting. */
export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;

/** Maximum nesting of arrays and objects: recursion over the values of deeper JSON would overflow the stack. */
export const MAX_JSON_DEPTH = 100;
