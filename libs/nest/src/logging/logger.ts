import { pino, type Logger } from 'pino';
import type { ServiceConfig } from '../config/service-config.ts';

/** Fields that never reach a log. */
const REDACTED = [
  'password',
  'token',
  'apiKey',
  'api_key',
  'authorization',
  '*.password',
  '*.token',
  '*.apiKey',
  '*.api_key',
  '*.authorization',
  'req.headers.authorization',
  'req.headers["x-api-key"]',
  'req.headers.cookie',
];

/** JSON lines on standard output, each with service and instance. */
export const createLogger = (config: Pick<ServiceConfig, 'name' | 'instance' | 'logLevel'>): Logger =>
  pino({
    level: config.logLevel,
    base: { service: config.name, instance: config.instance },
    redact: { paths: REDACTED, censor: '[redacted]' },
    formatters: { level: (label) => ({ level: label }) },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
  });
