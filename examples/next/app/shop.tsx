"use client";

import { type FormEvent, useEffect, useState } from "react";
import { findDetails, RpcError } from "triple-es";
import { createTransport } from "triple-es/proto";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import type { Order } from "../../gen/shop/v1/shop_pb.ts";
import { createShopServiceClient } from "../../gen/shop/v1/shop_triple.ts";

const shop = createShopServiceClient(createTransport({ baseUrl: "/rpc" }));

interface Product {
  readonly id: bigint;
  readonly name: string;
  readonly stock: number;
}

/** A client component: places orders with a unary call, and watches all orders with a stream. */
export function Shop({ products }: { readonly products: readonly Product[] }) {
  const [productId, setProductId] = useState(String(products[0]?.id));
  const [customer, setCustomer] = useState("");
  const [problem, setProblem] = useState("");
  const orders = useOrders();

  async function order(event: FormEvent) {
    event.preventDefault();
    try {
      const items = [{ productId: BigInt(productId), quantity: 1 }];
      await shop.placeOrder({ customer, items, delivery: { case: "pickup", value: "Main street" } });
      setProblem("");
    } catch (error) {
      setProblem(textOf(error));
    }
  }

  return (
    <>
      <form onSubmit={order}>
        <label>
          Product{" "}
          <select value={productId} onChange={(event) => setProductId(event.target.value)}>
            {products.map(({ id, name, stock }) => (
              <option key={String(id)} value={String(id)}>
                {name}, {stock} left
              </option>
            ))}
          </select>
        </label>{" "}
        <label>
          Name <input value={customer} onChange={(event) => setCustomer(event.target.value)} />
        </label>{" "}
        <button type="submit">Order</button>
        {problem !== "" && <p role="alert">{problem}</p>}
      </form>
      <h2>Orders</h2>
      <ol>
        {orders.map(({ id, customer, items }) => (
          <li key={String(id)}>
            {customer}: {products.find((product) => product.id === items[0]?.productId)?.name}
          </li>
        ))}
      </ol>
    </>
  );
}

/** All orders, from a stream that is cancelled when the component is unmounted and repeated when the connection is lost. */
function useOrders(): readonly Order[] {
  const [orders, setOrders] = useState<readonly Order[]>([]);
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const watch = async () => {
      let afterId = 0n;
      while (!signal.aborted) {
        try {
          for await (const { order } of shop.watchOrders({ afterId }, { signal })) {
            if (order === undefined) continue;
            afterId = order.id;
            setOrders((before) => [...before, order]);
          }
        } catch (error) {
          if (!signal.aborted) console.warn(textOf(error));
        }
        await new Promise((resolve) => setTimeout(resolve, 1_000));
      }
    };
    void watch();
    return () => {
      controller.abort();
      setOrders([]);
    };
  }, []);
  return orders;
}

/** The text of an error, and which fields of the request are invalid. */
function textOf(error: unknown): string {
  if (!(error instanceof RpcError)) return String(error);
  const violations = findDetails(error, BadRequestSchema).flatMap((detail) => detail.fieldViolations);
  return [error.rawMessage, ...violations.map(({ field, description }) => `${field}: ${description}`)].join("; ");
}
