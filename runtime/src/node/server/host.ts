/**
 * The host that a request names. Over HTTP/2 both `:authority` and `host` may name one (RFC 9113, section 8.3.1).
 */
import type { HeaderBlock } from "../../http2/messages.ts";

/**
 * Reports whether `host` and `:authority` agree, or one of them is missing. Serving a request where they differ lets it
 * bypass checks of the host. The answer is stored with the block, which many requests may share.
 */
export function hasOneHost(block: HeaderBlock): boolean {
  block.memo ??= agree(block);
  return block.memo === true;
}

function agree({ fields, authority, scheme }: HeaderBlock): boolean {
  if (authority === "") return true;
  for (let i = 0; i < fields.length; i += 2) {
    if (fields[i] !== "host") continue;
    const host = fields[i + 1] as string;
    return host === authority || normalizeHost(host, scheme) === normalizeHost(authority, scheme);
  }
  return true;
}

/** Converts a host to lower case and removes the default port of the scheme (RFC 3986, sections 6.2.2.1 and 6.2.3). */
function normalizeHost(host: string, scheme: string): string {
  return host.toLowerCase().replace(scheme === "https" ? /:(?:443)?$/ : /:(?:80)?$/, "");
}
