import { Code, RpcError } from "triple-es";
import { createServer } from "triple-es/node";
import { books } from "../books.ts";
import { BooksDef } from "./gen/api_triple.ts";

const server = createServer().add(BooksDef, {
  get({ id }) {
    const book = books.get(id);
    if (book === undefined) throw new RpcError(Code.NotFound, "there is no such book");
    return book;
  },
  add(book) {
    books.set(book.id, book);
    return book;
  },
});
await server.listen({ port: 50061, host: "127.0.0.1" });
