import { Metadata, status, type ServiceError } from "@grpc/grpc-js";

const RETRIED: status[] = [status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.RESOURCE_EXHAUSTED];

export function isRetried(error: ServiceError): boolean {
  return RETRIED.includes(error.code);
}

export function reasonOf(error: ServiceError): string | undefined {
  return error.metadata.get("x-reason")[0]?.toString();
}

export function withReason(reason: string): Metadata {
  const metadata = new Metadata();
  metadata.set("x-reason", reason);
  return metadata;
}
