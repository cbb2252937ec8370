/**
 * A body format is one file and one row of the table in `http-rpc/body/formats.ts`: this test adds a format, with requests
 * and responses, by a file (`test/support/csv.ts`) and a row.
 */
import { createRouter, type ServiceOptions } from "triple-es";
import { describe, expect, it, vi } from "vitest";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { type Fields, rpcRequest, textOf } from "../support/greeter.ts";
import { greeter } from "../support/server.ts";
import { ShopDef, shop } from "../support/shop.ts";

vi.mock("../../runtime/src/http-rpc/body/formats.ts", async (original) => {
  const { BODY_FORMATS } = await original<typeof import("../../runtime/src/http-rpc/body/formats.ts")>();
  const { csv } = await import("../support/csv.ts");
  return { BODY_FORMATS: [...BODY_FORMATS, csv] };
});

function open(options: ServiceOptions = {}) {
  const router = createRouter().add(GreetServiceDef, greeter, options).add(ShopDef, shop, options);
  return async (path: string, contentType: string, body: string, headers: Fields = {}) => {
    const fields = { "content-type": contentType, ...headers };
    const response = await router.exchange(rpcRequest({ path, headers: fields, body }));
    return { type: response.headers.get("content-type"), text: await textOf(response), response };
  };
}

const GREET = "/greet.v1.GreetService/Greet";
const CSV = { type: "text/csv; header=present" };

describe("a format that is a file and a row", () => {
  it("carries requests and responses of methods with schemas", async () => {
    expect(await open()(GREET, "text/csv", "name\nAda")).toMatchObject({ ...CSV, text: "greeting\nHello, Ada!" });
  });

  it("carries arguments and results of interface methods", async () => {
    const send = open();
    expect(await send("/com.acme.Shop/sayHi", "text/csv", "greeting,name\nHi,Ann")).toMatchObject({
      ...CSV,
      text: "String\nHi, Ann!",
    });
    expect(await send("/com.acme.Shop/find", "text/csv", "from,to\n3,7")).toMatchObject({
      ...CSV,
      text: "friends,id,age,name\n,,4,between",
    });
  });

  it("is selected by accept for requests in JSON", async () => {
    expect(await open()(GREET, "application/json", '[{"name":"Ada"}]', { accept: "text/csv" })).toMatchObject(CSV);
  });

  it("has a name in the option bodies, and is listed with the supported types", async () => {
    const refused = await open({ bodies: ["form"] })(GREET, "text/csv", "name\nAda");
    expect(refused.response.status).toBe(415);
    expect(refused.text).not.toContain("text/csv,");
    expect((await open({ bodies: ["csv"] })(GREET, "text/csv", "name\nAda")).response.status).toBe(200);
    expect((await open()(GREET, "text/tsv", "")).response.headers.get("accept-post")).toContain("text/csv");
    expect(() => open({ bodies: ["cvs"] })).toThrow('bodies: "cvs" is not among: multipart, form, text, xml, csv');
  });

  it("reports a malformed body as its codec would", async () => {
    const { response, text } = await open()(GREET, "text/csv", "name\nAda,2");
    expect([response.status, text]).toEqual([400, expect.stringContaining("the lines have different lengths")]);
  });
});
