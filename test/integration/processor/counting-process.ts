import { openKafka } from '@espalier/kafka';
import { ProcessorHost } from '@espalier/processor';
import { countingMachine } from './counting-machine.ts';

/** One replica of the counting processor, to be killed and frozen. Ends with code 3 when it cannot go on, for its test to start it anew. */
const [brokers = '', prefix = '', name = ''] = process.argv.slice(2);
const say = (level: string) => (fields: object, message: string) =>
  process.stdout.write(`${new Date().toISOString()} ${name} ${level} ${message} ${JSON.stringify(fields)}\n`);
const logger = { debug: () => undefined, info: say('info'), warn: say('warn'), error: say('error') };
const kafka = openKafka({ brokers: brokers.split(','), clientId: name, prefix, profile: 'embedded', logger });
const host = new ProcessorHost({
  kafka,
  machine: countingMachine,
  group: 'group-processor',
  timings: { heartbeatMs: 500, graceMs: 500 },
  onFatal: (error) => {
    logger.error({ error: error.message }, 'fatal');
    process.exit(3);
  },
});
process.on('SIGTERM', () => {
  void host
    .stop()
    .then(() => kafka.close())
    .then(() => process.exit(0));
});
await host.start();
setInterval(() => {
  if (!host.healthy()) {
    logger.error({}, 'not healthy');
    process.exit(3);
  }
}, 1000);
