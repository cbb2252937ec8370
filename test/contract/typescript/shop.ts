/** The service of the tests of contracts in TypeScript, and a value of its largest type. */
import { Code, RpcError } from "triple-es";
import type { ShopHandler } from "../../../fixtures/contract/gen/shop_triple.ts";
import { Colour, type Everything, type Receipt } from "../../../fixtures/contract/shop.ts";

export const receipt: Receipt = {
  id: 2n ** 70n,
  order: { items: [{ thing: "lamp", count: 2 }], customer: "ann@acme.com", due: new Date(0), colour: Colour.Red },
};

export const everything: Everything = {
  text: "höher \u{1f600}",
  slug: "a-b",
  id: "c56a4180-65aa-42ec-a945-5fd21dec0538",
  flag: true,
  big: -5n,
  instant: new Date("2026-01-31T12:00:00.123Z"),
  bytes: new Uint8Array([0, 255, 62, 63]),
  nothing: null,
  digit: 3,
  either: false,
  dateOrNumber: new Date("1999-12-31T23:59:59Z"),
  emails: ["a@b.cd"],
  pair: ["x", new Date(5)],
  record: { __proto__x: new Date(1), constructor: new Date(2) },
  byName: new Map([["lamp", { thing: "lamp", count: 1, price: { cents: 5, currency: "EUR" } }]]),
  byNumber: new Map([
    [-3, "minus"],
    [12, "twelve"],
  ]),
  byId: new Map([[10n ** 20n, new Uint8Array([1])]]),
  tree: { value: 1n, children: [{ value: 2n, children: [] }] },
  json: { a: [1, "two", null, { b: true }] },
  partial: { count: 7 },
  constructor: "own",
  "with-dash": new Date(9),
  shape: { kind: "group", members: [{ kind: "box", size: [1, 2] }] },
};

export const shop: ShopHandler = {
  order: (order) => ({ id: 1n, order }),
  stock: (thing) => (thing === "lamp" ? 7 : null),
  search: ({ text, page = 0 }) => ({ items: [{ thing: text, count: page + 1 }] }),
  area: (shape) => (shape.kind === "circle" ? shape.radius : Number.NaN),
  echo: (value) => value,
  now: () => new Date(1_000),
  ping: () => {},
  async *watch({ id }) {
    if (id === 0n) throw new RpcError(Code.NotFound, "nothing");
    yield receipt;
    yield { ...receipt, id };
  },
  async total(items) {
    let cents = 0;
    for await (const { count, price } of items) cents += count * (price?.cents ?? 0);
    return { cents, currency: "EUR" };
  },
  async *find(names) {
    for await (const name of names) yield name === "" ? null : { thing: name, count: 1 };
  },
};
