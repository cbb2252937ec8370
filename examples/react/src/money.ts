import type { Money } from "../../gen/shop/v1/shop_pb.ts";

/** Formats an amount, for example `€24.50`. A string keeps all digits, which a number might not. */
export function format({ currencyCode, units, nanos }: Money): string {
  const amount = `${units}.${String(nanos).padStart(9, "0")}`;
  return new Intl.NumberFormat("en", { style: "currency", currency: currencyCode }).format(amount as `${number}`);
}
