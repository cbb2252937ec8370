/**
 * The table of body formats, in the order of the specification (spec: Additional request content types).
 */
import { form } from "./form.ts";
import type { BodyFormat } from "./format.ts";
import { createMultipart } from "./multipart.ts";
import { text } from "./text.ts";
import { xml } from "./xml.ts";

const SINGLE_FORMATS: readonly BodyFormat[] = [form, text, xml];

/** The body formats. Parts of a multipart body may have every other format. */
export const BODY_FORMATS: readonly BodyFormat[] = [createMultipart(SINGLE_FORMATS), ...SINGLE_FORMATS];
