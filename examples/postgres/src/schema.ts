/** Creates the tables of `schema.sql`, and the products: `npm run schema`. */
import { readFileSync } from "node:fs";
import pg from "pg";
import { DATABASE_URL } from "./configuration.ts";

const client = new pg.Client(DATABASE_URL);
await client.connect();
await client.query(readFileSync(new URL("../schema.sql", import.meta.url), "utf8"));
await client.end();
console.log("the tables are ready");
