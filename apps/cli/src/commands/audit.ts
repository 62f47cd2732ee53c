import { auditRun, kafkaEventSource, type AuditReport } from '@espalier/audit';
import { CliError, EXIT } from '../errors.ts';
import { moment } from '../output/format.ts';
import { withPlane } from '../plane-access/open-plane.ts';
import type { CommandContext } from './command-context.ts';

/** Recomputes the account of a run from the log and its bodies. Exit code 1 when a promise is broken. */
export async function audit(
  { config, out, exit }: CommandContext,
  runId: string,
  flags: { readonly bodies: boolean; readonly warnings: boolean },
): Promise<void> {
  const report = await withPlane(config, 'read', ({ kafka, objects }) =>
    auditRun(kafkaEventSource(kafka), flags.bodies ? objects : null, runId),
  );
  if (report.attempts === 0 && report.groups === 0 && report.findings.length === 0 && !report.ended)
    throw new CliError('CLI_NOT_FOUND', `the log holds nothing of run "${runId}"; see "espalier run list"`, EXIT.no);
  out.value(report);
  if (!out.json) for (const line of reportLines(report, flags.warnings)) out.line(line);
  exit(report.ok ? EXIT.ok : EXIT.no);
}

function reportLines(report: AuditReport, warnings: boolean): string[] {
  const { classes, findings } = report;
  const total = classes.reduce((sum, { attempts }) => sum + attempts, 0);
  const violations = findings.filter(({ severity }) => severity === 'violation');
  const shown = warnings ? findings : violations;
  const by = (counts: Readonly<Record<string, number>>): string => {
    const parts = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
    return parts.length === 0 ? '' : `  ${parts.join(', ')}`;
  };
  return [
    `audit of run ${report.run_id} (${report.ended ? 'ended' : 'under way'}), cut taken ${moment(report.taken_at)}`,
    `${report.records} records read; ${report.groups} groups, ${report.trajectories} trajectories (${report.bodies_checked} bodies), ${report.batches} batches`,
    '',
    'attempts by class',
    ...classes.map((entry) => `  ${entry.class.padEnd(10)} ${String(entry.attempts).padStart(6)}${by(entry.by)}`),
    `  ${'sum'.padEnd(10)} ${String(total).padStart(6)}  of ${report.attempts} requested`,
    '',
    ...shown.flatMap(({ severity, code, message, place, since }) => [
      `${severity === 'violation' ? 'BROKEN ' : 'warning'} ${code}: ${message}`,
      `        at ${place.topic}, partition ${place.partition}, offset ${place.offset}, since ${moment(since)}`,
    ]),
    `${violations.length} violations, ${findings.length - violations.length} warnings${warnings || findings.length === violations.length ? '' : ' (--warnings shows them)'}`,
    violations.length === 0 ? 'the account is complete' : 'the account is broken',
  ];
}
