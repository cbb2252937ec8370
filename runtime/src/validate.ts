/**
 * Entry point `triple-es/validate`: validation of request messages by the rules in their proto files.
 *
 * @module triple-es/validate
 */
export { createValidation, type MessageValidator } from "./server/validation.ts";
