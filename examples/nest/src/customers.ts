import { Injectable } from "@nestjs/common";

/** The customers by their tokens. A real shop asks its identity provider: see the example `security`. */
@Injectable()
export class Customers {
  readonly #names: ReadonlyMap<string, string> = new Map([
    ["token-of-ann", "Ann"],
    ["token-of-bob", "Bob"],
  ]);

  nameOf(token: string): string | undefined {
    return this.#names.get(token);
  }
}
