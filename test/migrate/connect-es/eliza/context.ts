import { createContextKey } from "@connectrpc/connect";

export interface User {
  name: string;
}

export const kUser = createContextKey<User>({ name: "anonymous" }, { description: "The user of a call" });
