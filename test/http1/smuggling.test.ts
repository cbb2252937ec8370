/**
 * Known variants of request smuggling and desynchronisation (RFC 9112, section 11.2): each is answered with an error after which no
 * byte is interpreted, or has exactly the meaning that the RFC gives it.
 */
import { describe, expect, it } from "vitest";
import { Peer } from "./peer.ts";
import { bytes, G, REFUSED, SERVED } from "./requests.ts";

describe("the engine refuses, and interprets no further byte:", () => {
  it.each(REFUSED)("%s (%i)", (_, status, ...inputs) => {
    for (const input of inputs) {
      const peer = new Peer().receive(bytes(G)).receive(bytes(input) + bytes(G));
      expect([input, peer.statuses, peer.over]).toEqual([input, [200, status], "ended"]);
      expect(peer.output).toContain("connection: close\r\n");
      peer.receive(bytes(G));
      expect(peer.statuses).toEqual([200, status]);
      expect(peer.seen.filter(({ path, end }) => path === "/evil" || end === "open")).toEqual([]);
    }
  });
});

describe("the engine serves, and the request after it:", () => {
  it.each(SERVED)("%s", (_, input, body) => {
    for (const split of [false, true]) {
      const text = bytes(input + G);
      const peer = new Peer().receive(text, split ? Array.from({ length: text.length }, (_, i) => i) : []);
      expect(peer.statuses).toEqual([200, 200]);
      expect(peer.seen).toMatchObject([
        { body, end: "whole" },
        { path: "/next", end: "whole" },
      ]);
    }
  });

  it("not a request after one with connection: close", () => {
    for (const close of ["close", "Keep-Alive, CLOSE", "x¶Connection: close"]) {
      const peer = new Peer().receive(bytes(`GET / HTTP/1.1¶Host: a¶Connection: ${close}¶¶${G}`));
      expect([peer.statuses, peer.over]).toEqual([[200], "ended"]);
    }
  });

  it("a URL in the request line, whose host replaces the field", () => {
    const peer = new Peer().receive(bytes("GET http://b:80?x HTTP/1.1¶Host: a¶¶OPTIONS * HTTP/1.1¶Host: a¶¶"));
    expect(peer.seen).toMatchObject([
      { path: "/?x", fields: ["host", "b:80"] },
      { path: "*", method: "OPTIONS" },
    ]);
  });
});
