/** An application of NestJS after its sample of gRPC, with each kind of method and of enhancer. */
import "reflect-metadata";
import type { Duplex } from "node:stream";
import {
  type CallHandler,
  type CanActivate,
  Catch,
  Controller,
  type ExecutionContext,
  Injectable,
  Module,
  type NestInterceptor,
  type PipeTransform,
  type RpcExceptionFilter,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
} from "@nestjs/common";
import { GrpcMethod, GrpcStreamCall, GrpcStreamMethod, RpcException } from "@nestjs/microservices";
import {
  concat,
  count,
  finalize,
  from,
  map,
  mergeMap,
  NEVER,
  type Observable,
  of,
  Subject,
  tap,
  throwError,
} from "rxjs";

/** The part of the metadata and call of `@grpc/grpc-js` that the handlers use. */
interface GrpcMetadata {
  get(key: string): (string | Buffer)[];
  getMap(): Record<string, string | Buffer>;
  clone(): GrpcMetadata;
  set(key: string, value: string | Buffer): void;
}
interface GrpcCall {
  sendMetadata(metadata: GrpcMetadata): void;
  getPath(): string;
}

export interface HeroById {
  readonly id: string;
}

const HEROES = [
  { id: "1", names: { firstName: "John" }, kind: "FLYING", powers: { speed: 3 }, city: "Rome", age: 0 },
  { id: "2", team: { name: "A" }, badge: Buffer.from("ab") },
];

/** Events of the handlers and interceptors, in order. */
export const events: string[] = [];

@Injectable()
class TokenGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const metadata = context.switchToRpc().getContext<GrpcMetadata>();
    return metadata.get("token")[0] !== "wrong";
  }
}

@Injectable()
class IdPipe implements PipeTransform {
  transform(value: HeroById): HeroById {
    if (value.id === "0") throw new RpcException({ code: 3, message: "id must not be 0" });
    return value;
  }
}

@Injectable()
class Recorder implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const name = context.getHandler().name;
    return next.handle().pipe(tap({ complete: () => events.push(`${name} completed`) }));
  }
}

class Busy extends Error {}

@Catch(Busy)
class BusyFilter implements RpcExceptionFilter<Busy> {
  catch({ message }: Busy): Observable<never> {
    return throwError(() => ({ code: 14, message }));
  }
}

@Controller()
@UseFilters(BusyFilter)
@UseInterceptors(Recorder)
class HeroController {
  @GrpcMethod("HeroService")
  @UseGuards(TokenGuard)
  @UsePipes(IdPipe)
  findOne({ id }: HeroById, metadata: GrpcMetadata, call: GrpcCall): object {
    if (id === "3") throw new Busy("the heroes are busy");
    if (id === "4") throw new Error("a secret");
    if (id === "7") throw new RpcException({ code: 5, message: "not found", metadata: {} });
    if (id === "10") return { names: 7 };
    const answer = metadata.clone();
    if (id === "8") {
      for (const name of ["empty", "date", ":name"]) answer.set(name, name === "empty" ? "" : "1");
      answer.set("grpc-status-details-bin", Buffer.from([8, 9, 26, 3, 10, 1, 97]));
      throw new RpcException({ code: 9, message: "no", metadata: answer });
    }
    answer.set("path", call.getPath());
    call.sendMetadata(answer);
    const hero = HEROES.find((one) => one.id === id);
    if (hero === undefined) throw new RpcException({ code: 5, message: `there is no hero ${id}` });
    return hero;
  }

  @GrpcMethod("HeroService")
  listHeroes({ id }: HeroById): Observable<object> {
    if (id === "6") {
      const endless = concat(of({ id: "1", powers: [] }, { id: 7 }, []), NEVER);
      return endless.pipe(finalize(() => events.push("unsubscribed")));
    }
    return from(HEROES).pipe(
      mergeMap((hero) => (id === "5" && hero.id === "2" ? throwError(() => new RpcException("no more")) : [hero])),
    );
  }

  @GrpcStreamMethod("HeroService")
  countPowers(heroes: Observable<object>): Observable<object> {
    return heroes.pipe(
      count(),
      map((total) => ({ total })),
    );
  }

  @GrpcStreamMethod("HeroService")
  async findMany(ids: Observable<HeroById>): Promise<Observable<object>> {
    await new Promise((resolve) => setImmediate(resolve));
    const found = new Subject<object>();
    ids.subscribe({
      next: ({ id }) => found.next(HEROES.find((one) => one.id === id) ?? {}),
      complete: () => {
        events.push("ids completed");
        found.complete();
      },
    });
    return found.asObservable();
  }

  @GrpcStreamCall("HeroService")
  echoMany(call: Duplex): void {
    call.on("cancelled", () => events.push("echoMany ended"));
    call.on("data", ({ id }: HeroById) => {
      if (id === "0") call.emit("error", { code: 9, message: "enough" });
      else if (id === "9") call.destroy();
      else call.write({ id });
    });
    call.on("end", () => call.end());
  }

  @GrpcStreamCall("HeroService")
  sumIds(call: Duplex, respond: (error: unknown, value: object) => void): void {
    let total = 0;
    call.on("data", ({ id }: HeroById) => (total += Number(id)));
    call.on("end", () => respond(null, { total }));
  }
}

@Module({ controllers: [HeroController] })
export class HeroModule {}
