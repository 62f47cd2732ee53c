import { runningPlane, stopRunningBroker, stopRunningPlane } from '@espalier/local-plane';
import { EXIT } from '../errors.ts';
import type { CommandContext } from './command-context.ts';

/** Stops the plane of this machine, and an embedded broker that was left alone. */
export async function down({ config, out, exit }: CommandContext): Promise<void> {
  const plane = runningPlane(config.dir);
  const stopped = await stopRunningPlane(config.dir);
  const broker = await stopRunningBroker(config.dir);
  out.value({ stopped, broker });
  if (stopped) out.line(`the plane (process ${plane?.pid}) has stopped`);
  else if (broker) out.line('the broker has stopped');
  else out.line(`no plane runs in ${config.dir}`);
  exit(EXIT.ok);
}
