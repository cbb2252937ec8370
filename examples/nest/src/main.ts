import "reflect-metadata";
import { NestFactory } from "@nestjs/core";
import { AppModule } from "./app.module.ts";
import { RpcServer } from "./rpc.server.ts";

// Streams to pages have no end, so the server closes their connections when it shuts down.
const app = await NestFactory.create(AppModule, { forceCloseConnections: true });
// Before `listen`, which adds the body parsers of Nest: calls have bodies of their own.
app.use("/rpc", app.get(RpcServer).handler);
app.enableShutdownHooks();
await app.listen(Number(process.env["PORT"] ?? 3000));
console.log(`HTTP at ${(await app.getUrl()).replace("[::1]", "localhost")}`);
