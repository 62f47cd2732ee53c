import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { RunState } from '@espalier/contracts';
import { openKafka, type KafkaPort } from '@espalier/kafka';
import { bootstrapService, type RunningService } from '@espalier/nest';
import { runConfig } from '@espalier/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { LogitTable } from '../../../apps/reference-learner/src/policy-model/logit-table.ts';
import { referenceLearner } from '../../../apps/reference-learner/src/service.ts';
import { play } from '../../../apps/reference-learner/src/simulation/simulate.ts';
import { workshop } from '../../../apps/reference-learner/src/simulation/workshop.ts';
import { ScriptedGateway } from '../../../apps/reference-learner/src/testing/scripted-gateway.ts';

let folder: string;
let gateway: ScriptedGateway;
let policy: RunningService;
let learner: RunningService;
let kafka: KafkaPort;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'reference-learner-'));
  gateway = new ScriptedGateway(
    [1, 2, 3].map((seq) => ({
      digest: `digest-${seq}`,
      samples: workshop.slice(0, 4).map((task, index) => ({
        ...play(task, new LogitTable(), seq * 10 + index, `run/${task.name}/${seq}/r0`).sample,
        batch_id: `run/batch/${seq}`,
        seq,
        trajectory_id: `run/${task.name}/${seq}/r0/a0/t`,
        group_id: `run/${task.name}/${seq}`,
        task_id: task.name,
        reward: index % 2,
        advantage: index % 2 === 0 ? -0.5 : 1.5,
        version_runs: [],
      })),
    })),
  );
  const gatewayUrl = await gateway.listen();
  const prefix = `t${randomBytes(5).toString('hex')}`;
  const boot = (role: string, more: Record<string, string>): Promise<RunningService> =>
    bootstrapService({
      ...referenceLearner,
      ownsProcess: false,
      env: {
        ESPALIER_KAFKA_BROKERS: inject('brokers').join(','),
        ESPALIER_PREFIX: prefix,
        ESPALIER_OBJECTS: pathToFileURL(join(folder, 'objects')).href,
        ESPALIER_STATE_DIR: join(folder, role),
        ESPALIER_INSTANCE: role,
        ESPALIER_HTTP_PORT: '0',
        ESPALIER_METRICS_PORT: '0',
        ESPALIER_LOG_LEVEL: 'error',
        ESPALIER_ROLE: role,
        ESPALIER_POLL_SECONDS: '1',
        ...more,
      },
    });
  policy = await boot('policy', {});
  learner = await boot('learner', { ESPALIER_GATEWAY_URL: gatewayUrl, ESPALIER_POLICY_URL: policy.url ?? '' });
  kafka = openKafka({ brokers: inject('brokers'), clientId: 'spec', prefix, profile: 'embedded' });
});

afterAll(async () => {
  await kafka.close();
  await learner.stop();
  await policy.stop();
  await gateway.close();
  rmSync(folder, { recursive: true, force: true });
});

const reported = async (runId: string, state: RunState): Promise<void> => {
  await kafka.producer().send('run.reported', { run_id: runId, kind: 'STATE', state });
};

it('hears of the run, trains its batches, and loads each version into the policy server in another process', async () => {
  const config = runConfig();
  await kafka.producer().send('run.submitted', {
    run_id: 'other',
    config: { ...config, policy: { ...config.policy, model: 'another' } },
    submitted_by: 'spec',
  });
  await reported('other', 'ACTIVE');
  await kafka.producer().send('run.submitted', {
    run_id: 'run',
    config,
    submitted_by: 'spec',
  });
  await reported('run', 'ACTIVE');
  const until = Date.now() + 60_000;
  for (;;) {
    const served = (await (await fetch(`${policy.url}/health`)).json()) as { policy_version: number };
    if (served.policy_version === 3 && gateway.published.at(-1)?.phase === 'READY') break;
    if (Date.now() > until) throw new Error(`version ${served.policy_version}; ${gateway.requests.join(', ')}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(gateway.acknowledged.map(({ seq }) => seq)).toEqual([1, 2, 3]);
  expect(gateway.requests.every((request) => !request.includes('/other/'))).toBe(true);
  const metrics = await (await fetch(`${learner.metricsUrl}/metrics`)).text();
  expect(metrics).toMatch(/espalier_learner_batches_total\{run="run",service="reference-learner"\} 3/);
});
