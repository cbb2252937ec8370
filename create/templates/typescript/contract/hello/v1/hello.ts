/** @service hello.v1.HelloService */
export interface HelloService {
  /** Greets one person. */
  sayHello(request: SayHelloRequest): Promise<SayHelloResponse>;
}

export interface SayHelloRequest {
  /** @minLength 1 */
  name: string;
}

export interface SayHelloResponse {
  greeting: string;
}
