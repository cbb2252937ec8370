/** The HTTP request and response of a call in memory, as text. */
import type { Body, HttpRequest, HttpResponse, Router } from "triple-es";

/** The text of a request or of a response, which grows while chunks of the body arrive. */
export interface Recorded {
  readonly request: string;
  readonly response: string;
}

type Fields = Iterable<readonly [name: string, value: string]>;

/** A router that reports each exchange, at its beginning and whenever bytes pass. */
export function recording(router: Router, onChange: (recorded: Recorded) => void): Router {
  const exchange = async (request: HttpRequest): Promise<HttpResponse> => {
    const texts = { request: `${request.method} ${request.path}\n${linesOf(request.headers)}`, response: "" };
    const log = (side: keyof typeof texts, line: string): void => {
      texts[side] += `\n${line}`;
      onChange(texts);
    };
    const response = await router.exchange(withBody(request, (chunk) => log("request", textOf(chunk))));
    texts.response = `${response.status}\n${linesOf(response.headers)}`;
    return withBody(
      response,
      (chunk) => log("response", textOf(chunk)),
      () => log("response", linesOf(response.trailers)),
    );
  };
  return replaced(router, "exchange", exchange);
}

/** The request or response with a body that reports its chunks. */
function withBody<T extends HttpRequest | HttpResponse>(
  message: T,
  onChunk: (chunk: Uint8Array) => void,
  onEnd = (): void => undefined,
): T {
  return replaced(message, "body", reporting(message.body, onChunk, onEnd));
}

function reporting(body: Body, onChunk: (chunk: Uint8Array) => void, onEnd: () => void): Body {
  const { whole } = body;
  if (whole !== undefined) {
    if (whole.length > 0) onChunk(whole);
    onEnd();
    return body;
  }
  async function* read(): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      onChunk(chunk);
      yield chunk;
    }
    onEnd();
  }
  return replaced(body, Symbol.asyncIterator, read);
}

/** An object with another value of a member. Its getters and methods have private fields, so that it cannot be a prototype. */
function replaced<T extends object>(target: T, member: keyof T, value: unknown): T {
  return new Proxy(target, {
    get(_, name) {
      if (name === member) return value;
      const found: unknown = Reflect.get(target, name);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });
}

function linesOf(fields: Fields): string {
  return Array.from(fields, ([name, value]) => `${name}: ${value}`).join("\n");
}

/** JSON as it is, and other bytes in hexadecimal. */
function textOf(bytes: Uint8Array): string {
  if (bytes[0] === 0x7b || bytes[0] === 0x5b) return new TextDecoder().decode(bytes);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
