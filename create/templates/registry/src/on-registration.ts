import type { RegistrationEvent } from "triple-es/discovery";

/** Prints whether the server is registered. It is tried again until it is. */
export function onRegistration(event: RegistrationEvent): void {
  if (event.type === "failed") console.error(event.error.message);
  else console.log(event.type);
}
