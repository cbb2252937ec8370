/**
 * Random templates and requests: the route, the value of its variable, and the status of every request agree with a model made
 * from the text of google/api/http.proto, which compares a request with each route instead of searching a table.
 */
import fc from "fast-check";
import { createRouter } from "triple-es";
import { addRest, type RestRule } from "triple-es/rest";
import { expect, it } from "vitest";
import { MessagingServiceDef } from "../../fixtures/gen/fixture/rest/v1/rest_triple.ts";
import { rpcRequest, textOf } from "../support/greeter.ts";
import { createMessaging, type ReceivedCall } from "./messaging.ts";

/** Methods with the same request, each of which has one random route. */
const METHODS = ["GetNamed", "CancelNamed", "TouchNamed", "GetFile", "Link"];

/** A segment of a template: `*`, `**` or a literal as it is written. */
type Segment = string;

interface Route {
  readonly method: string;
  readonly segments: readonly Segment[];
  /** The first segment of the variable and the one after its last; equal for a template without a variable. */
  readonly variable: readonly [start: number, end: number];
  readonly verb: string;
}

const LITERALS = ["a", "b", "caf%C3%A9", "a%2Fb"];
const VERBS = ["go", "caf%C3%A9"];
const HTTP_METHODS = ["GET", "POST", "DELETE", "HEAD", "*"];

const route: fc.Arbitrary<Route> = fc
  .record({
    method: fc.constantFrom(...HTTP_METHODS),
    segments: fc.array(fc.constantFrom(...LITERALS, "*", "*"), { minLength: 1, maxLength: 3 }),
    isOpen: fc.boolean(),
    variable: fc.tuple(fc.nat(3), fc.nat(4)),
    verb: fc.constantFrom("", "", ...VERBS),
  })
  .map(({ method, segments, isOpen, variable: [start, length], verb }) => {
    const all = isOpen ? [...segments, "**"] : segments;
    const first = Math.min(start, all.length);
    return { method, segments: all, variable: [first, Math.min(first + length, all.length)], verb };
  });

function templateOf({ segments, variable: [start, end], verb }: Route): string {
  const parts = [...segments];
  if (end > start) parts.splice(start, end - start, `{name=${segments.slice(start, end).join("/")}}`);
  return `/${parts.join("/")}${verb && `:${verb}`}`;
}

function ruleOf(one: Route, name: string): RestRule {
  const custom = { kind: one.method, path: templateOf(one) };
  return { selector: `fixture.rest.v1.MessagingService.${name}`, custom };
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
};

/** Returns the segments of a path that a route matches, without its verb. */
function matched({ segments, verb }: Route, path: string): string[] | undefined {
  const given = path === "/" ? [] : path.slice(1).split("/");
  if (verb !== "") {
    const last = given.pop() ?? "";
    const colon = last.lastIndexOf(":");
    if (colon < 0 || decoded(last.slice(colon + 1)) !== decoded(verb)) return undefined;
    given.push(last.slice(0, colon));
  }
  const isOpen = segments.at(-1) === "**";
  const fixed = isOpen ? segments.slice(0, -1) : segments;
  if (isOpen ? given.length < fixed.length : given.length !== fixed.length) return undefined;
  const fits = fixed.every((segment, index) => {
    const text = given[index] as string;
    return segment === "*" ? text !== "" : decoded(text) === decoded(segment);
  });
  return fits ? given : undefined;
}

/** The precedence of a route for a method: lower numbers come first. */
function ranksOf({ method, segments, verb }: Route, wanted: string): number[] {
  const ofMethod = method === wanted ? 0 : method === "*" ? 2 : 1;
  return [ofMethod, verb === "" ? 1 : 0, ...segments.map((one) => (one === "**" ? 2 : one === "*" ? 1 : 0))];
}

function comesFirst(one: readonly number[], other: readonly number[]): number {
  for (let i = 0; i < Math.max(one.length, other.length); i++) {
    const difference = (one[i] ?? 0) - (other[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The value of a variable: `%2F` is kept in a value of several segments. */
function capturedBy({ segments, variable: [start, end] }: Route, given: readonly string[]): string | undefined {
  if (end === start) return "";
  const isOpen = segments[end - 1] === "**";
  const text = given.slice(start, isOpen ? undefined : end).join("/");
  if (!isOpen && end === start + 1) return decoded(text);
  const parts = text.split(/(%2F)/i).map((part, index) => (index % 2 === 1 ? part : decoded(part)));
  return parts.includes(undefined) ? undefined : parts.join("");
}

interface Outcome {
  readonly status: number;
  readonly allow?: string | undefined;
  readonly name?: string | undefined;
  readonly method?: string | undefined;
}

function expected(routes: readonly Route[], method: string, path: string): Outcome {
  const matching = routes.flatMap((one, index) => {
    const given = matched(one, path);
    return given === undefined ? [] : [{ one, given, name: METHODS[index] as string }];
  });
  const [best] = matching
    .filter(({ one }) => [method, "*", method === "HEAD" ? "GET" : method].includes(one.method))
    .sort((a, b) => comesFirst(ranksOf(a.one, method), ranksOf(b.one, method)));
  if (best !== undefined) {
    const value = capturedBy(best.one, best.given);
    return value === undefined ? { status: 400 } : { status: 200, method: best.name, name: value };
  }
  if (matching.length === 0) return { status: 404 };
  const allowed = new Set(matching.map(({ one }) => one.method));
  if (allowed.has("GET")) allowed.add("HEAD");
  return { status: 405, allow: [...allowed].sort().join(", ") };
}

const SEGMENTS = [
  ...["a", "%61", "b", "caf%C3%A9", "caf%c3%a9", "a%2Fb", "a%2fb", "%2F", "%25", "%252F", ".", "..", "x%20y", "", ":"],
  ...["a:go", "b:caf%C3%A9", "a%3Ago", "go", "%", "%zz", "%ff", "a:b:go", "+", "*", "**", "é", "%F0%9F%98%80", "a;b=1"],
];

/** Paths of a route, and others: the wildcards and some literals are replaced, and segments are added. */
const pathOf = (routes: readonly Route[]): fc.Arbitrary<string> =>
  fc
    .record({
      route: fc.constantFrom(...routes),
      fill: fc.array(fc.constantFrom(...SEGMENTS), { minLength: 8, maxLength: 8 }),
      choice: fc.nat(9),
      other: fc.constantFrom("", "", ...VERBS),
    })
    .map(({ route: { segments, verb }, fill, choice, other }) => {
      const parts = segments.flatMap((one, index) => {
        if (one === "**") return fill.slice(index, index + (choice % 4));
        return one === "*" || choice === index ? (fill[index] as string) : one;
      });
      if (choice === 9) parts.push("");
      if (choice === 8) parts.pop();
      const end = choice < 6 ? verb : other;
      return `/${parts.join("/")}${end && `:${end}`}`;
    });

const table = fc.array(route, { minLength: METHODS.length, maxLength: METHODS.length }).chain((routes) =>
  fc.record({
    routes: fc.constant(routes),
    requests: fc.array(fc.tuple(fc.constantFrom("GET", "POST", "DELETE", "HEAD", "PUT"), pathOf(routes)), {
      minLength: 8,
      maxLength: 8,
    }),
  }),
);

/** Two routes that match the same requests cannot both be added. */
function haveConflict(routes: readonly Route[]): boolean {
  const keys = routes.map(({ method, segments, verb }) =>
    JSON.stringify([method, decoded(verb), ...segments.map((one) => [one.includes("*"), decoded(one)])]),
  );
  return new Set(keys).size < keys.length;
}

it("routes every request as the text of http.proto says", async () => {
  const seen = new Set<number>();
  await fc.assert(
    fc.asyncProperty(table, async ({ routes, requests }) => {
      const calls: ReceivedCall[] = [];
      const errors: unknown[] = [];
      const router = createRouter({ onError: (error) => errors.push(error) });
      router.add(
        MessagingServiceDef,
        createMessaging((call) => calls.push(call)),
      );
      const rules = routes.map((one, index) => ruleOf(one, METHODS[index] as string));
      if (haveConflict(routes)) {
        expect(() => addRest(router, { rules })).toThrow("have the same route");
        return;
      }
      addRest(router, { rules });
      for (const [method, path] of requests) {
        const headers = { "content-type": undefined };
        const response = await router.exchange(rpcRequest({ method, path, headers, body: "" }));
        const call = calls.pop();
        const { name } = (call?.request ?? {}) as { name?: string };
        const outcome: Outcome = {
          status: response.status,
          allow: response.headers.get("allow"),
          method: call?.method,
          name: call && (name ?? ""),
        };
        seen.add(response.status);
        const templates = routes.map((one) => `${one.method} ${templateOf(one)}`).join("\n");
        const text = await textOf(response);
        expect(outcome, `${method} ${path}: ${text}\n${templates}`).toEqual({
          allow: undefined,
          method: undefined,
          name: undefined,
          ...expected(routes, method, path),
        });
        expect(method === "HEAD" && response.status !== 404 ? text : "").toBe("");
      }
      expect(errors).toEqual([]);
    }),
    { numRuns: 400 },
  );
  for (const status of [200, 400, 404, 405]) expect(seen).toContain(status);
});
