import { describe } from "vitest";
import { hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import { attackServer } from "./server.ts";

describe.skipIf(!hasOpenssl)("over TLS (needs openssl)", () => {
  if (hasOpenssl) attackServer(sharedCertificates());
});
