# The configuration of workerd. In a project of wrangler, `wrangler.toml` declares the same bindings.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "shop", worker = .shop)],
  sockets = [
    (name = "http", http = (), service = "shop"),
    # Cloudflare passes on connections of other Workers only, by a service binding.
    (name = "grpc", tcp = (), service = "shop"),
  ],
);

const shop :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "dist/worker.js")],
  compatibilityDate = "2026-10-01",
  bindings = [
    (name = "SHOP", durableObjectNamespace = "Shop"),
    # The token of staff, from the environment of workerd. Without it, WatchOrders refuses every caller.
    (name = "STAFF_TOKEN", fromEnvironment = "STAFF_TOKEN"),
  ],
  durableObjectNamespaces = [(className = "Shop", uniqueKey = "shop")],
  durableObjectStorage = (inMemory = void),
);
