/** Dates in JSON, which has no type for them. */
import { show, toDate } from "./type.ts";

/** A day, or a day and a time with or without a time zone. The range of every number is checked. */
const DATE =
  /^([+-][0-9]{6}|[0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ]([0-9:]{5,8}(?:\.[0-9]{1,9})?)(Z|[+-][0-9]{2}:?[0-9]{2})?)?$/;

/** The largest distance from 1970 that a `Date` can hold, in milliseconds. */
const MAX_TIME = 8.64e15;

/**
 * Reads a date from milliseconds, ISO 8601, or Java's format with a space between day and time. A time without a time zone is
 * local time. A day without a time is midnight UTC.
 */
export function dateFromJson(json: unknown): Date {
  if (json instanceof Date) return toDate(json);
  if (typeof json === "number" && Number.isInteger(json) && Math.abs(json) <= MAX_TIME) return new Date(json);
  const [, year, month, day, time, zone = ""] = (typeof json === "string" && DATE.exec(json)) || [];
  const text = `${year}-${month}-${day}`;
  const date = new Date(time === undefined ? text : `${text}T${time}${zone.replace(/^(...)(..)$/, "$1:$2")}`);
  // JavaScript accepts a day beyond the end of its month, and converts it to a day of the next month.
  const isLate = Number(day) > 28 && new Date(`${text}T00:00Z`).getUTCDate() !== Number(day);
  if (Number.isNaN(date.getTime()) || isLate) {
    throw new TypeError(`${show(json)} is not a valid date`);
  }
  return date;
}
