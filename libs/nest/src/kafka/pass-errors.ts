import { Catch, type RpcExceptionFilter } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { throwError, type Observable } from 'rxjs';

/** Where Nest keeps the filters and the pattern of a method. */
const FILTERS = '__exceptionFilters__';
const PATTERN = 'microservices:pattern';

/** Nest replaces unknown errors by `Internal server error`; the consumer needs the error itself to tell what to do with the record. */
@Catch()
class PassErrorsFilter implements RpcExceptionFilter {
  catch(error: unknown): Observable<never> {
    return throwError(() => error);
  }
}

/**
 * Lets the errors of all event handlers through. Set on each handler, behind its own filters: a global filter would have to serve HTTP too, and a
 * microservice takes its global ones before an application can give it any.
 */
export function passErrorsOfHandlers(modules: ModulesContainer): void {
  const filter = new PassErrorsFilter();
  for (const module of modules.values())
    for (const { metatype } of module.controllers.values()) {
      const prototype = (metatype as { prototype?: object } | null)?.prototype;
      for (
        let level = prototype;
        level !== undefined && level !== null && level !== Object.prototype;
        level = (Object.getPrototypeOf(level) as object | null) ?? undefined
      )
        for (const name of Object.getOwnPropertyNames(level)) {
          const method: unknown = Object.getOwnPropertyDescriptor(level, name)?.value;
          if (typeof method !== 'function' || !Reflect.hasMetadata(PATTERN, method)) continue;
          const own = (Reflect.getMetadata(FILTERS, method) as unknown[] | undefined) ?? [];
          if (!own.some((entry) => entry instanceof PassErrorsFilter))
            Reflect.defineMetadata(FILTERS, [filter, ...own], method);
        }
    }
}
