/**
 * Responses whose headers exceed the SETTINGS_MAX_HEADER_LIST_SIZE of the client (RFC 9113, section 6.5.2;
 * CVE-2026-50560): the stream is reset, and the handler ends.
 */
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import { Flag, frame, RawConnection, Reset, request, settings, Type, words } from "../../support/frames.ts";
import { startServer } from "../../support/server.ts";

const MAX_HEADER_LIST_SIZE = 6;
const EMPTY_MESSAGE = Buffer.alloc(5);

it.each([
  ["yields messages", "cleartext", false],
  ["yields messages", "TLS", true],
  ["waits for its signal", "cleartext", false],
  ["waits for its signal", "TLS", true],
] as const)("a handler of a stream that %s ends if its response cannot be sent (over %s)", async (kind, _, overTls) => {
  if (overTls && !hasOpenssl) return;
  let started = 0;
  let ended = 0;
  const { port } = await startServer(
    {
      async *greetEach(_request, { signal, sendHeaders }) {
        started++;
        try {
          if (kind === "yields messages") for (let i = 0; i < 100; i++) yield { greeting: "Hello!" };
          sendHeaders();
          await delay(1_000_000, undefined, { signal });
        } finally {
          ended++;
        }
      },
    },
    { tls: overTls ? sharedCertificates().server : undefined },
  );
  const connection = await RawConnection.open(port, settings([MAX_HEADER_LIST_SIZE, 1]), overTls);
  connection.write(
    frame(Type.headers, Flag.endHeaders, 1, request("GreetEach")),
    frame(Type.data, Flag.endStream, 1, EMPTY_MESSAGE),
  );
  expect((await connection.frame(Type.reset, 1)).payload).toEqual(words(Reset.internal));
  await expect.poll(() => [started, ended], { timeout: 10_000 }).toEqual([1, 1]);
});
