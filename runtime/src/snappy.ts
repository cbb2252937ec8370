/**
 * Entry point `triple-es/snappy`: the compression snappy. Register it like any other compression:
 * `compressions: [...nodeCompressions, snappy]`.
 *
 * @module triple-es/snappy
 */
export { framedSnappy, snappy } from "./codec/snappy/snappy.ts";
