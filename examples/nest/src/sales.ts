import { Injectable } from "@nestjs/common";

/** Counts orders. RPC and the controller share it. */
@Injectable()
export class Sales {
  #orders = 0;

  add(): void {
    this.#orders++;
  }

  get count(): number {
    return this.#orders;
  }
}
