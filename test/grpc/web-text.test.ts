/** Base64 of `application/grpc-web-text`. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { toBase64 } from "../../runtime/src/grpc/web-text.ts";

describe("base64 on a platform without Buffer", () => {
  afterEach(() => vi.unstubAllGlobals());

  it.each([0, 1, 2, 3, 24_575, 24_576, 24_577, 100_000])("is that of Buffer for %d bytes", (length) => {
    const bytes = Uint8Array.from({ length }, (_, index) => index * 31 + (index >> 8));
    const expected = new TextDecoder().decode(toBase64(bytes));
    vi.stubGlobal("Buffer", undefined);
    const text = new TextDecoder().decode(toBase64(bytes));
    vi.unstubAllGlobals();
    expect(text).toBe(expected);
  });
});
