/**
 * Request targets of HTTP/1.1 (RFC 9112, section 3.2).
 */

// absolute-form = absolute-URI    (RFC 9112, section 3.2.2: a server must accept it)
// scheme        = ALPHA *( ALPHA / DIGIT / "+" / "-" / "." )
const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i;

/** The parts of a request target. */
export interface TargetParts {
  /** The path with its query. */
  readonly path: string;
  /** The host and port of a target in absolute-form, which replace the field `host` (RFC 9112, section 3.2.2). */
  readonly authority: string | undefined;
}

/** Parses a request target. Proxies receive the whole URL, and some forward it. */
export function parseTarget(target: string): TargetParts {
  if (target.startsWith("/")) return { path: target, authority: undefined };
  const [origin = "", authority] = ABSOLUTE_FORM.exec(target) ?? [];
  const path = target.slice(origin.length);
  return { path: path === "" || path.startsWith("?") ? `/${path}` : path, authority };
}
