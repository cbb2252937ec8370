/** Services with any number of methods, all of which return the request. */

export const METHODS_PER_SERVICE = 100;

export const serviceName = (index: number): string => `bench.v1.Service${Math.floor(index / METHODS_PER_SERVICE)}`;
export const methodName = (index: number): string => `Echo${index % METHODS_PER_SERVICE}`;
export const methodPath = (index: number): string => `/${serviceName(index)}/${methodName(index)}`;
