/** Quality values: the preferences of a peer in `accept` and `accept-encoding` (RFC 9110, section 12.4.2). */

/** One item of a list of preferences. */
export interface Preference {
  /** The name in lower case, without parameters. */
  readonly name: string;
  /** The quality value, 0 (not acceptable) to 1. */
  readonly quality: number;
}

/** Maximum number of items that are read, far above that of legitimate lists, which bounds the time of hostile ones. */
const MAX_PREFERENCES = 32;

/** Maximum number of parameters of an item that are read. A media type has one or two before its quality value. */
const MAX_ITEM_PARAMETERS = 8;

//     weight = OWS ";" OWS "q=" qvalue
//     qvalue = ( "0" [ "." 0*3DIGIT ] ) / ( "1" [ "." 0*3("0") ] )
// Like other implementations, the pattern accepts spaces around "=", more than three digits, and no digit before the point,
// as in "*; q=.2" of Java.
const IS_WEIGHT = /^\s*q\s*=/i;
const WEIGHT = /^\s*q\s*=\s*(0(?:\.[0-9]*)?|\.[0-9]+|1(?:\.0*)?)\s*$/i;

/** Parses a list of preferences, in order. Items with an invalid quality value are omitted. */
export function parseQualityValues(list: string): Preference[] {
  return list.split(",", MAX_PREFERENCES).flatMap((item) => {
    const [name = "", ...parameters] = item.split(";", MAX_ITEM_PARAMETERS + 1);
    const weight = parameters.find((parameter) => IS_WEIGHT.test(parameter));
    const quality = weight === undefined ? "1" : WEIGHT.exec(weight)?.[1];
    return quality === undefined ? [] : [{ name: name.trim().toLowerCase(), quality: Number(quality) }];
  });
}
