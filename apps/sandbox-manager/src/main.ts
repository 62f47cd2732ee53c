import { ConfigError } from '@espalier/nest';
import { loadConfig } from './config.ts';
import { startManager } from './start-manager.ts';

try {
  const manager = await startManager(loadConfig(process.env));
  let closing = false;
  const close = (): void => {
    if (closing) return;
    closing = true;
    manager.close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.once('SIGTERM', close);
  process.once('SIGINT', close);
} catch (error) {
  process.stderr.write(`sandbox-manager did not start: ${messageOf(error)}\n`);
  process.exit(1);
}

function messageOf(error: unknown): string {
  if (error instanceof ConfigError) return error.problems.join('\n  ');
  return error instanceof Error ? error.message : String(error);
}
