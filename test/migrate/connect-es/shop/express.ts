import { createContextValues, ConnectRouter } from "@connectrpc/connect";
import { expressConnectMiddleware } from "@connectrpc/connect-express";
import { createValidateInterceptor } from "@connectrpc/validate";
import express from "express";
import { kUser } from "../eliza/context.js";
import { ShopService } from "../gen/shop/v1/shop_pb.js";
import { Shop } from "./service.js";

const app = express();
const shop = new Shop();

app.use(
  expressConnectMiddleware({
    requestPathPrefix: "/api",
    interceptors: [createValidateInterceptor()],
    contextValues: (req) => createContextValues().set(kUser, { name: req.headers["x-user"] as string }),
    routes: (router: ConnectRouter) => router.service(ShopService, shop),
  }),
);

app.listen(3000);
