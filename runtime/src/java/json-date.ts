/**
 * Dates as JSON has them, which has no word for them.
 */
import { show, toDate } from "./type.ts";

/** A day, or a day and a time, which may say its zone. Digits of another calendar, or beyond a day's, are no date. */
const DATE =
  /^([+-][0-9]{6}|[0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ]([0-9:]{5,8}(?:\.[0-9]{1,9})?)(Z|[+-][0-9]{2}:?[0-9]{2})?)?$/;

/** As far from 1970 as dates of JavaScript go, in milliseconds. */
const MAX_TIME = 8.64e15;

/**
 * Milliseconds, ISO 8601, or what Java prints, with a blank between day and time. A time that does not say its zone is that
 * of whoever reads it; a day alone begins in UTC.
 */
export function dateFromJson(json: unknown): Date {
  if (json instanceof Date) return toDate(json);
  if (typeof json === "number" && Number.isInteger(json) && Math.abs(json) <= MAX_TIME) return new Date(json);
  const [, year, month, day, time, zone = ""] = (typeof json === "string" && DATE.exec(json)) || [];
  const text = `${year}-${month}-${day}`;
  const date = new Date(time === undefined ? text : `${text}T${time}${zone.replace(/^(...)(..)$/, "$1:$2")}`);
  // A day that its month does not have is one of the next month, to JavaScript.
  if (Number.isNaN(date.getTime()) || new Date(`${text}T00:00Z`).getUTCDate() !== Number(day)) {
    throw new TypeError(`${show(json)} is no date`);
  }
  return date;
}
