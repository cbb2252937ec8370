import type { ClientMiddleware } from "nice-grpc-common";
export type DeadlineOptions = {
  deadline?: Date | number;
};
export declare const deadlineMiddleware: ClientMiddleware<DeadlineOptions>;
