/** The names and addresses that the programs of this example share. */
import { fileURLToPath } from "node:url";

/** The folder of the certificates. */
export const CERTIFICATES: string = process.env["CERTIFICATES"] ?? fileURLToPath(new URL("../certs", import.meta.url));

/** The issuer of tokens and the audience that they are for. Both are in every token, and are verified. */
export const ISSUER = "https://login.shop.example";
export const AUDIENCE = "https://api.shop.example";

/** The ports of customers, of services and of the identity provider. */
export const PORTS = {
  customers: Number(process.env["PORT"] ?? 50051),
  services: Number(process.env["SERVICES_PORT"] ?? 50052),
  issuer: Number(process.env["ISSUER_PORT"] ?? 50053),
};
