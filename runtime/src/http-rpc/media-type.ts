/**
 * Media types: the parser of `content-type`, and content negotiation by `accept` (RFC 9110, section 12.5.1).
 */
import { parseQualityValues } from "../codec/quality-values.ts";

export const JSON_TYPE = "application/json";
export const EVENT_TYPE = "text/event-stream";

/** A parsed media type (RFC 9110, section 8.3.1). */
export interface MediaType {
  /** `type/subtype` in lower case. */
  readonly name: string;
  /** Parameter values without quotes, by name in lower case. */
  readonly parameters: ReadonlyMap<string, string>;
}

//     media-type    = type "/" subtype *( OWS ";" OWS [ parameter ] )
//     parameter     = token "=" ( token / quoted-string )
// Like browsers and servers, it accepts spaces around "=". Other deviations from the grammar are errors.
const MEDIA_TYPE_NAME = /^\s*([!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+)\s*(?=;|$)/i;
const PARAMETER =
  /\s*;\s*(?:([!#$%&'*+.^_`|~0-9a-z-]+)\s*=\s*(?:([!#$%&'*+.^_`|~0-9a-z-]+)|"((?:[^"\\]|\\.)*)")\s*)?/iy;

/** Maximum length of a media type in characters. The longest legitimate ones have a boundary of 70 characters. */
const MAX_LENGTH = 1_000;

/** Parses a content type. Returns `undefined` if it is malformed. If a parameter is repeated, the first one applies. */
export function parseMediaType(contentType: string): MediaType | undefined {
  if (contentType.length > MAX_LENGTH) return undefined;
  const name = MEDIA_TYPE_NAME.exec(contentType);
  if (name === null) return undefined;
  const parameters = new Map<string, string>();
  for (let position = name[0].length; position < contentType.length; ) {
    PARAMETER.lastIndex = position;
    const found = PARAMETER.exec(contentType);
    if (found === null) return undefined;
    position = PARAMETER.lastIndex;
    const key = found[1]?.toLowerCase();
    if (key !== undefined && !parameters.has(key)) {
      parameters.set(key, found[2] ?? (found[3] as string).replaceAll(/\\(.)/g, "$1"));
    }
  }
  return { name: (name[1] as string).toLowerCase(), parameters };
}

/** Returns the specification's name of a media type, which other implementations call protobuf or x-protobuf. */
export function canonicalType(name: string): string {
  return name.replace(/^(application\/)(x-)?protobuf$/, "$1proto");
}

/** Reports whether a media type has no charset, or one that is a subset of UTF-8. */
export function isUtf8({ parameters }: MediaType): boolean {
  return /^(?:utf-?8|us-ascii)?$/i.test(parameters.get("charset") ?? "");
}

/**
 * Returns the quality value of a media type in `accept`, or 0 if it is not acceptable. The type itself takes precedence
 * over `type/*`, and that over the range of all types.
 *
 *     Accept = [ media-range [ ";" "q=" qvalue ] *( "," media-range [ ";" "q=" qvalue ] ) ]
 */
export function qualityOf(accept: string, mediaType: string): number {
  const ranges = ["*/*", `${mediaType.slice(0, mediaType.indexOf("/"))}/*`, mediaType];
  let specificity = -1;
  let quality = 0;
  for (const preference of parseQualityValues(accept)) {
    // Java sends a single asterisk for the range of all types.
    const found = preference.name === "*" ? 0 : ranges.indexOf(preference.name);
    if (found <= specificity) continue;
    specificity = found;
    quality = preference.quality;
  }
  return quality;
}

/** Returns the first media type with the highest quality in `accept`; `undefined` if none is acceptable. */
export function chooseMediaType(accept: string, mediaTypes: readonly string[]): string | undefined {
  const qualities = mediaTypes.map((mediaType) => qualityOf(accept, mediaType));
  const best = Math.max(...qualities);
  return best > 0 ? mediaTypes[qualities.indexOf(best)] : undefined;
}
