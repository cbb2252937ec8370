/** Path templates of `google.api.http` (google/api/http.proto, section "Path template syntax"). */

/** A parsed path template. */
export interface PathTemplate {
  /** The template as it is written in the rule. */
  readonly text: string;
  /** Decoded literals, and the wildcards `*` (one segment) and `**` (all further segments). */
  readonly segments: readonly TemplateSegment[];
  readonly variables: readonly TemplateVariable[];
  /** The decoded custom verb without its colon; empty if there is none. */
  readonly verb: string;
}

export type TemplateSegment = { readonly literal: string } | "*" | "**";

/** A variable, which captures the segments from `start` up to `end`, or all further ones if there is no `end`. */
export interface TemplateVariable {
  /** Names of the fields from the request message to the captured field. */
  readonly fieldPath: readonly string[];
  readonly start: number;
  readonly end: number | undefined;
  /** True if the variable can capture several segments; `%2F` is then not decoded. */
  readonly isMulti: boolean;
}

/** A segment after its slash. A variable may contain slashes. */
const SEGMENT = /\/(?:\{[^{}]*|[^/{])*/g;
const PROTO_IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** A literal: `pchar` without the colon (RFC 3986, section 3.3), so that a verb can follow. */
const LITERAL_SEGMENT = /^(?:[A-Za-z0-9\-._~!$&'()+,;=@]|%[0-9A-Fa-f]{2})+$/;

//     Template = "/" Segments [ Verb ] ;            Segments  = Segment { "/" Segment } ;
//     Segment  = "*" | "**" | LITERAL | Variable ;  Variable  = "{" FieldPath [ "=" Segments ] "}" ;
//     Verb     = ":" LITERAL ;                      FieldPath = IDENT { "." IDENT } ;
/** Parses a path template; `/` is one without segments. `refuse` throws the error for an invalid one. */
export function parseTemplate(text: string, refuse: (problem: string) => never): PathTemplate {
  const invalid = (problem: string): never => refuse(`the path template "${text}" ${problem}`);
  if (!text.startsWith("/")) invalid("must start with /");
  const { path, verb } = splitVerb(text);
  if (verb !== undefined && !LITERAL_SEGMENT.test(verb)) invalid(`has the invalid verb ":${verb}"`);
  const segments: TemplateSegment[] = [];
  const variables: TemplateVariable[] = [];
  const addSegment = (segment: string): void => {
    if (segments.at(-1) === "**") invalid("has segments after **, which must be the last one");
    if (segment === "*" || segment === "**") segments.push(segment);
    else if (LITERAL_SEGMENT.test(segment)) segments.push({ literal: decodeSegment(segment) ?? segment });
    else invalid(segment === "" ? "has an empty segment" : `has the invalid segment "${segment}"`);
  };
  for (const given of path === "/" ? [] : (path.match(SEGMENT) ?? [])) {
    const part = given.slice(1);
    const [, name, pattern = "*"] = /^\{([^{}=]*)(?:=([^{}]*))?\}$/.exec(part) ?? [];
    if (name === undefined) {
      addSegment(part);
      continue;
    }
    const fieldPath = name.split(".");
    if (!fieldPath.every((one) => PROTO_IDENTIFIER.test(one)))
      invalid(`has a variable with the invalid name "${name}"`);
    const start = segments.length;
    for (const segment of pattern.split("/")) addSegment(segment);
    const end = segments.at(-1) === "**" ? undefined : segments.length;
    variables.push({ fieldPath, start, end, isMulti: end !== start + 1 });
  }
  return { text, segments, variables, verb: verb === undefined ? "" : (decodeSegment(verb) ?? verb) };
}

/** Splits the verb from a template: the text after a colon in the last segment, outside of variables. */
function splitVerb(text: string): { path: string; verb: string | undefined } {
  const afterVariables = Math.max(text.lastIndexOf("}"), text.lastIndexOf("/"));
  const colon = text.indexOf(":", afterVariables);
  return colon < 0 ? { path: text, verb: undefined } : { path: text.slice(0, colon), verb: text.slice(colon + 1) };
}

/** Decodes the percent-encoding of a segment. Returns `undefined` if it is malformed. */
export function decodeSegment(segment: string): string | undefined {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
