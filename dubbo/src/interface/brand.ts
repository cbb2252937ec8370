/**
 * Branded types for Java's types that TypeScript lacks, for contracts and generated code. A plain number is assignable to
 * `int`: the brand is information for the generator and the reader.
 */

/** An integer of 32 bits: -2,147,483,648 to 2,147,483,647. */
export type int = number & { readonly "~java"?: "int" };
/** An integer of 16 bits: -32,768 to 32,767. */
export type short = number & { readonly "~java"?: "short" };
/** An integer of 8 bits: -128 to 127. */
export type byte = number & { readonly "~java"?: "byte" };
/** A floating-point number of 32 bits. */
export type float = number & { readonly "~java"?: "float" };
/** A floating-point number of 64 bits, like every number of JavaScript. */
export type double = number & { readonly "~java"?: "double" };
/** An integer of 64 bits. The value is always a `bigint`, even if it is small. */
export type long = bigint & { readonly "~java"?: "long" };
/** One UTF-16 code unit, as a string of length 1. */
export type char = string & { readonly "~java"?: "char" };
/** A decimal number of any size and precision, as text such as `12.50`. */
export type BigDecimal = string & { readonly "~java"?: "BigDecimal" };
/** An integer of any size, as text. */
export type BigInteger = string & { readonly "~java"?: "BigInteger" };
/** An array in Java. Without this brand, `T[]` is a `java.util.List`. */
export type JavaArray<T> = T[] & { readonly "~java"?: "array" };
