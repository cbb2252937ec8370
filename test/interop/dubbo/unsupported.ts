/**
 * What peers do not support, by column and case, and why. A case that is listed here has to fail.
 */

/** Cases by name, with the reason. */
export type Reasons = Readonly<Record<string, string>>;

const noNames = "Only Dubbo for Java tells and reads the capitals of names (`tri-header-convert`).";

export const UNSUPPORTED: Readonly<Record<string, Reasons>> = {
  "us → dubbo-go": {
    attachment_names: noNames,
    details: "A server of dubbo-go makes a new error of a handler's code and message, without the details.",
  },
  "dubbo-go → us": {},
  "us → Java 3.3": {},
  "Java 3.3 → us": {},
  "us → Java 3.2": {},
  "Java 3.2 → us": {},
};
