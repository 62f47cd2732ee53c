import { bootstrapService } from '@espalier/nest';
import { expect, inject, it } from 'vitest';
import { AppModule } from '../../../apps/lag-exporter/src/app.module.ts';
import { lagExporterConfig } from '../../../apps/lag-exporter/src/config.ts';
import { eventually, freshPrefix, open } from './open.ts';
import { request } from './requests.ts';

it('exports the lag of a group that has not come, and none for one that has read everything but markers', async () => {
  const prefix = freshPrefix();
  const kafka = open(prefix);
  await kafka.admin.ensureTopics();
  for (let n = 0; n < 3; n += 1) await kafka.producer().send('rollout.requested', request(n), { partition: 1 });
  // One group reads a transaction; its marker stays between the committed offset and the end.
  const transactional = kafka.transactional('lag-test');
  await transactional.open();
  await transactional.transact({
    records: [{ topic: `${prefix}.run.commanded.v1`, key: 'run', value: Buffer.from('x'), partition: 0 }],
    offsets: {
      group: 'run-processor',
      offsets: [{ topic: `${prefix}.run.commanded.v1`, partition: 0, offset: 1 }],
    },
  });
  const service = await bootstrapService({
    name: 'lag-exporter-test',
    module: AppModule,
    config: lagExporterConfig,
    ownsProcess: false,
    env: {
      ESPALIER_KAFKA_BROKERS: inject('brokers').join(','),
      ESPALIER_PREFIX: prefix,
      ESPALIER_LOG_LEVEL: 'silent',
      ESPALIER_LAG_INTERVAL_MS: '200',
    },
  });
  try {
    const lagOf = async (group: string, topic: string, partition: number): Promise<number> => {
      const text = await (await fetch(`${service.metricsUrl}/metrics`)).text();
      const line = text
        .split('\n')
        .find(
          (entry) =>
            entry.startsWith('kafka_consumergroup_lag{') &&
            entry.includes(`group="${prefix}.${group}"`) &&
            entry.includes(`topic="${prefix}.${topic}.v1"`) &&
            entry.includes(`partition="${partition}"`),
        );
      return Number(line?.split(' ').at(-1) ?? Number.NaN);
    };
    expect(await lagOf('rollout-runner', 'rollout.requested', 1)).toBe(3);
    expect(await lagOf('rollout-runner', 'rollout.requested', 0)).toBe(0);
    expect((await kafka.admin.endOffsets('run.commanded'))[0]?.offset).toBe(2);
    expect(await lagOf('run-processor', 'run.commanded', 0)).toBe(0);
    await kafka.producer().send('rollout.requested', request(3), { partition: 1 });
    await eventually('four', async () => (await lagOf('rollout-runner', 'rollout.requested', 1)) === 4);
  } finally {
    await service.stop();
  }
});
