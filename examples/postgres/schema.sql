-- The tables of the shop. It can be run again.
CREATE TABLE IF NOT EXISTS products (
  id bigint PRIMARY KEY,
  name text NOT NULL,
  price numeric(12, 2) NOT NULL,
  stock integer NOT NULL CHECK (stock >= 0)
);

CREATE TABLE IF NOT EXISTS orders (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  placed_at timestamptz NOT NULL DEFAULT now(),
  status smallint NOT NULL DEFAULT 1,
  customer text NOT NULL,
  total numeric(12, 2) NOT NULL,
  street text,
  city text,
  pickup text,
  -- A client that repeats a request sends the same key, so that the order is placed once.
  idempotency_key text CONSTRAINT one_order_per_key UNIQUE,
  -- The hash of the request: a key cannot be used for another order.
  fingerprint bytea NOT NULL
);

CREATE TABLE IF NOT EXISTS order_items (
  order_id bigint NOT NULL REFERENCES orders,
  position integer NOT NULL,
  product_id bigint NOT NULL REFERENCES products,
  quantity integer NOT NULL,
  PRIMARY KEY (order_id, position)
);

-- Tells all servers about new and changed orders, when their transaction is committed.
CREATE OR REPLACE FUNCTION notify_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('orders', NEW.id::text);
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER notify_order AFTER INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION notify_order();

INSERT INTO products VALUES
  (1, 'Teapot', 24.50, 10), (2, 'Cup', 6.95, 40), (9007199254740993, 'Green tea', 12.00, 3)
ON CONFLICT DO NOTHING;
