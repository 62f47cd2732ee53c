/** Injection token of the {@link KafkaPort}. */
export const KAFKA = Symbol('KAFKA');
/** Injection token of the {@link ObjectStore}. */
export const OBJECTS = Symbol('OBJECTS');
/** Injection token of the pino logger. */
export const LOGGER = Symbol('LOGGER');
/** Injection token of {@link Metrics}. */
export const METRICS = Symbol('METRICS');
/** Injection token of the service's own parsed configuration. */
export const CONFIG = Symbol('CONFIG');
/** Injection token of the {@link ServiceConfig}. */
export const SERVICE = Symbol('SERVICE');
/** Injection token of the {@link Lifecycle}. */
export const LIFECYCLE = Symbol('LIFECYCLE');
