export { auditRun, type AuditOptions } from './audit-run.ts';
export type { BodyStore } from './checks/bodies.ts';
export { CUT_ORDER, type AuditedTopic, type Cut } from './log/cut.ts';
export type { EventSource, PartitionBounds, RawRecord } from './log/event-source.ts';
export { kafkaEventSource } from './log/kafka-source.ts';
export { ATTEMPT_CLASSES, type AttemptClass, type AuditReport, type ClassCount } from './report/audit-report.ts';
export type { Finding, Place, Severity } from './report/finding.ts';
