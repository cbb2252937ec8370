/** @service hello.v1.HelloService */
export interface HelloService {
  /** Greets one person. */
  sayHello(request: SayHelloRequest): Promise<SayHelloResponse>;
  /** Greets each of the named people in turn. */
  greetEach(request: GreetEachRequest): AsyncIterable<SayHelloResponse>;
}

export interface SayHelloRequest {
  /** @minLength 1 */
  name: string;
}

export interface SayHelloResponse {
  greeting: string;
}

export interface GreetEachRequest {
  names: string[];
}
