import { type FormEvent, useState } from "react";
import { ErrorMessage } from "./error-message.tsx";
import { format } from "./money.ts";
import { usePlaceOrder, useProducts } from "./queries.ts";

/** A form that places an order with a unary call. The server checks the order, and the page shows its errors. */
export function OrderForm() {
  const products = useProducts();
  const placeOrder = usePlaceOrder();
  const [productId, setProductId] = useState("1");
  const [quantity, setQuantity] = useState("1");
  const [customer, setCustomer] = useState("");

  function submit(event: FormEvent) {
    event.preventDefault();
    placeOrder.mutate({
      customer,
      items: [{ productId: BigInt(productId), quantity: Number(quantity) }],
      delivery: { case: "pickup", value: "Main street" },
    });
  }

  if (products.isError) return <ErrorMessage error={products.error} />;
  return (
    <form onSubmit={submit}>
      <label>
        Product
        <select value={productId} onChange={(event) => setProductId(event.target.value)}>
          {products.data?.map(({ id, name, price, stock }) => (
            <option key={String(id)} value={String(id)}>
              {name}, {price && format(price)}, {stock} left
            </option>
          ))}
        </select>
      </label>
      <label>
        Quantity
        <input type="number" value={quantity} onChange={(event) => setQuantity(event.target.value)} />
      </label>
      <label>
        Name
        <input value={customer} onChange={(event) => setCustomer(event.target.value)} />
      </label>
      <button type="submit" disabled={placeOrder.isPending}>
        Order
      </button>
      {placeOrder.isError && <ErrorMessage error={placeOrder.error} />}
      {placeOrder.isSuccess && (
        <output>Thank you. Your order has the number {String(placeOrder.data.order?.id)}.</output>
      )}
    </form>
  );
}
