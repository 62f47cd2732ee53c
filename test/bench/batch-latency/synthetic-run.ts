import type { KafkaPort } from '@espalier/kafka';
import type { ObjectStore } from '@espalier/objects';

/** Trajectories of a group and of a batch, as in the peers' measurements. */
export const GROUP = 8;
export const BATCH = 32;
/** Most attempts at once. */
export const IN_FLIGHT = 512;
const TASKS = 32;
/** Batches that may be out or in the making: more than the learner ever lets wait. */
const STALENESS = 15;

/** Submits a run whose rollouts and scores this process makes up. It goes on until it is cancelled. */
export async function submitRun(kafka: KafkaPort, objects: ObjectStore, runId: string): Promise<void> {
  const producer = kafka.producer();
  const taskPackage = await objects.put(Buffer.from('a task that nobody unpacks'), {
    prefix: 'packages',
    mediaType: 'application/x-tar',
  });
  await producer.send('run.submitted', {
    run_id: runId,
    submitted_by: 'bench',
    config: {
      purpose: 'TRAIN',
      harnesses: [{ name: 'mini' }],
      policy: { model: 'bench', endpoints: ['http://127.0.0.1:9/v1'], adapter: 'CHAT' },
      group: { size: GROUP, budget: GROUP, mode: 'PER_COMPLETION', stride: GROUP, rho_min: 0.25, rho_max: 0.75 },
      batch: { size: BATCH, max_staleness: STALENESS },
      limits: { wall_ms: 600_000, model_calls: 64, sampled_tokens: 65_536 },
      scorers: [{ name: 'verifier', version: 'v1', required: true, deadline_ms: 600_000 }],
      breaker: {},
      target: { batches: 1_000_000 },
      max_attempts_in_flight: IN_FLIGHT,
      repeat_tasks: true,
    },
  });
  for (let index = 0; index < TASKS; index += 1)
    await producer.send('task.submitted', { run_id: runId, task_id: `task-${index}`, package: taskPackage });
}
