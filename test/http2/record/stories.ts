/**
 * Header lists in the order of a connection, as input for other encoders: those of services and browsers, and lists that
 * fill and change tables.
 */

export interface Step {
  /** name, value, name, value … */
  readonly fields: readonly string[];
  /** The size of the dynamic table from this block on. */
  readonly tableSize?: number;
}

export interface Story {
  readonly name: string;
  readonly steps: readonly Step[];
}

/** A random number generator that gives the same numbers every time (mulberry32). */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

function call(i: number, extra: readonly string[] = []): string[] {
  return [
    ...[":method", "POST", ":scheme", "http", ":authority", "localhost:50051"],
    ...[":path", `/greet.v1.GreetService/${["Greet", "List", "Chat"][i % 3]}`],
    ...["content-type", "application/grpc+proto", "te", "trailers", "user-agent", "grpc-go/1.60.0"],
    ...["grpc-accept-encoding", "gzip,deflate", ...extra],
  ];
}

const hex = (next: () => number, length: number): string =>
  Array.from({ length }, () => Math.floor(next() * 16).toString(16)).join("");

function traced(): Step[] {
  const next = random(1);
  return Array.from({ length: 24 }, (_, i) => ({
    fields: call(i, [
      ...["grpc-timeout", `${Math.floor(next() * 99_999_999)}u`],
      ...["traceparent", `00-${hex(next, 32)}-${hex(next, 16)}-01`, "authorization", `Bearer ${hex(next, 24)}`],
    ]),
  }));
}

function responses(): Step[] {
  const codes = ["200", "200", "204", "302", "404", "500", "418", "100"];
  return codes.flatMap((status, i) => [
    {
      fields: [
        ":status",
        status,
        "content-type",
        "application/json",
        "content-length",
        String(i * 1117),
        "date",
        `Mon, ${i} Jan`,
      ],
    },
    { fields: ["grpc-status", String(i), "grpc-message", `no%20such%20thing ${i}`] },
  ]);
}

/** Values with all lengths and characters, so that tables overflow and integers need several bytes. */
function odd(): Step[] {
  const next = random(2);
  const text = (length: number): string =>
    Array.from({ length }, () => String.fromCharCode(0x21 + Math.floor(next() * 94))).join("");
  const steps = Array.from({ length: 20 }, (_, i) => ({
    fields: [`x-${i % 5}`, text(i * 37), "x-same", text(30), `x-new-${i}`, text(200), "x-empty", ""],
  }));
  return [
    ...steps,
    { fields: ["x-large", text(5_000), "x-latin", "caf\u00e9 \u00ff\u0080"] },
    { fields: steps[3]?.fields ?? [] },
  ];
}

function resized(): Step[] {
  const sizes = [undefined, undefined, 100, undefined, 0, undefined, 4_096, undefined, 256, undefined];
  return sizes.flatMap((tableSize, i) => [
    tableSize === undefined ? { fields: call(i) } : { fields: call(i), tableSize },
    { fields: call(i, ["x-round", String(i)]) },
  ]);
}

export const STORIES: readonly Story[] = [
  { name: "calls", steps: Array.from({ length: 12 }, (_, i) => ({ fields: call(i) })) },
  { name: "calls with a trace and a deadline of their own", steps: traced() },
  { name: "responses and trailers", steps: responses() },
  { name: "odd lengths and characters", steps: odd() },
  { name: "changes of the table's size", steps: resized() },
];
