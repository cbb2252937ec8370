/** Colours, if stdout is a terminal. */
import { styleText } from "node:util";

const colourful = process.stdout.isTTY === true && process.env["NO_COLOR"] === undefined;

const painter =
  (format: Parameters<typeof styleText>[0]) =>
  (text: string): string =>
    colourful ? styleText(format, text) : text;

export const title = painter("bold");
export const sent = painter("cyan");
export const received = painter("yellow");
export const quiet = painter("gray");
export const good = painter("green");
export const bad = painter("red");
