import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { OrderForm } from "./order-form.tsx";
import { OrderList } from "./order-list.tsx";
import { queryClient } from "./queries.ts";

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <h1>Shop</h1>
      <OrderForm />
      <OrderList />
    </QueryClientProvider>
  </StrictMode>,
);
