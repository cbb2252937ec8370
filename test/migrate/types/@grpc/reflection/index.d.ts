export declare class ReflectionService {
  constructor(pkg: object, options?: object);
  addToServer(server: { addService(...args: never[]): void }): void;
}
