/**
 * The description of a service in the metadata of its application.
 */
import type { ServiceKey } from "triple-es/discovery";

/** The services of an instance, as its metadata service describes them. */
export interface DescribedService extends ServiceKey {
  /** The protocol: `tri` for Triple. */
  readonly protocol: string;
  /** The port that serves it. */
  readonly port: number;
  /** The path of the service: its name, for Triple. */
  readonly path: string;
  /** The parameters of its URL, such as `prefer.serialization`. */
  readonly parameters: Readonly<Record<string, string>>;
}
