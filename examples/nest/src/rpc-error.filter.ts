import { Catch, type RpcExceptionFilter } from "@nestjs/common";
import { type Observable, throwError } from "rxjs";
import { RpcError } from "triple-es";

/** Sends an `RpcError` with its details. Without this filter, Nest knows its own `RpcException` only, and hides all others. */
@Catch(RpcError)
export class RpcErrorFilter implements RpcExceptionFilter<RpcError> {
  catch(error: RpcError): Observable<never> {
    return throwError(() => error);
  }
}
