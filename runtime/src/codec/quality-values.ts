/**
 * Quality values: how much a peer wants each of several things, in `accept` and in `accept-encoding`.
 */

/** One item of a list of wishes. */
export interface Wish {
  /** In lower case, without parameters. */
  readonly name: string;
  /** 1 gladly, 0 not at all. */
  readonly quality: number;
}

/** More wishes than this are not read: nobody has that many, and an attacker's list must not cost us time. */
const MAX_WISHES = 32;

//     weight = OWS ";" OWS "q=" qvalue
//     qvalue = ( "0" [ "." 0*3DIGIT ] ) / ( "1" [ "." 0*3("0") ] )
// As others do, spaces around "=", more digits and none before the point are let pass: Java asks for "*; q=.2".
const IS_WEIGHT = /^\s*q\s*=/i;
const WEIGHT = /^\s*q\s*=\s*(0(?:\.[0-9]*)?|\.[0-9]+|1(?:\.0*)?)\s*$/i;

/** The wishes of a list, in order. One whose quality is none is not understood, and left out. */
export function parseWishes(list: string): Wish[] {
  return list.split(",", MAX_WISHES).flatMap((item) => {
    const [name = "", ...parameters] = item.split(";");
    const weight = parameters.find((parameter) => IS_WEIGHT.test(parameter));
    const quality = weight === undefined ? "1" : WEIGHT.exec(weight)?.[1];
    return quality === undefined ? [] : [{ name: name.trim().toLowerCase(), quality: Number(quality) }];
  });
}
