/** The configuration of the programs of this example, from the environment. */
export const DATABASE_URL: string = process.env["DATABASE_URL"] ?? "postgres://localhost/shop";

/** The port of a server. */
export const PORT = Number(process.env["PORT"] ?? 50051);

/** The servers that a client calls. */
export const SERVERS: readonly string[] = (process.env["SERVERS"] ?? "localhost:50051,localhost:50052").split(",");
