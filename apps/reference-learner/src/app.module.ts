import { join } from 'node:path';
import { Module, type DynamicModule } from '@nestjs/common';
import type { ServiceContext } from '@espalier/nest';
import { CheckpointStore } from './checkpoints/checkpoint-store.ts';
import type { ReferenceLearnerConfig } from './config.ts';
import { GatewayClient } from './learner/gateway-client.ts';
import { Learner } from './learner/learner.ts';
import { LearnerService, type ServeRun } from './learner/learner.service.ts';
import { RemotePolicyServer, type PolicyServer } from './learner/policy-server-client.ts';
import { ADMIN_KEY, ChatController } from './policy-server/chat.controller.ts';
import { PolicyHolder } from './policy-server/served-policy.ts';
import { RunWatch } from './runs/run-watch.ts';
import { RunsController } from './runs/runs.controller.ts';

type Context = ServiceContext<ReferenceLearnerConfig>;

/** Limit of one request to the gateway, beside its long poll. */
const GATEWAY_TIMEOUT_MS = 60_000;

/** The policy server, the learner, or both, as the role says. */
@Module({})
export class AppModule {
  static of(context: Context): DynamicModule {
    const { config, lifecycle } = context;
    const servesPolicy = config.ESPALIER_ROLE !== 'learner';
    const learns = config.ESPALIER_ROLE !== 'policy';
    const holder = new PolicyHolder(config.ESPALIER_MODEL, join(config.ESPALIER_STATE_DIR, 'served.json'));
    const runs = new RunWatch(config.ESPALIER_MODEL);
    if (learns) {
      const policy: PolicyServer = servesPolicy
        ? { load: async (checkpoint) => void (await holder.load(checkpoint)) }
        : new RemotePolicyServer(config.ESPALIER_POLICY_URL, config.ESPALIER_POLICY_ADMIN_KEY ?? null);
      const service = new LearnerService(
        runs,
        serveWith(context, runs, policy),
        config.ESPALIER_RUN ?? null,
        context.logger,
      );
      lifecycle.add('learner', service);
    }
    return {
      module: AppModule,
      controllers: [...(servesPolicy ? [ChatController] : []), ...(learns ? [RunsController] : [])],
      providers: [
        { provide: PolicyHolder, useValue: holder },
        { provide: ADMIN_KEY, useValue: config.ESPALIER_POLICY_ADMIN_KEY ?? null },
        { provide: RunWatch, useValue: runs },
      ],
    };
  }
}

function serveWith({ config, service, logger, metrics }: Context, runs: RunWatch, policy: PolicyServer): ServeRun {
  const checkpoints = new CheckpointStore(config.ESPALIER_STATE_DIR);
  const batches = metrics.counter({
    name: 'espalier_learner_batches_total',
    help: 'Batches trained and acknowledged.',
    labelNames: ['run'],
  });
  const version = metrics.gauge({
    name: 'espalier_learner_policy_version',
    help: 'Newest policy version of the learner.',
    labelNames: ['run'],
  });
  const offPolicy = metrics.gauge({
    name: 'espalier_learner_off_policy_nats',
    help: 'Mean absolute log ratio of the last batch: how far its sampling policy was from the one trained.',
    labelNames: ['run'],
  });
  return async (runId, stop) => {
    const learner = new Learner({
      gateway: new GatewayClient(
        { baseUrl: config.ESPALIER_GATEWAY_URL, learnerId: service.instance, timeoutMs: GATEWAY_TIMEOUT_MS },
        stop,
      ),
      checkpoints,
      policy,
      gradient: { learningRate: config.ESPALIER_LEARNING_RATE, clip: config.ESPALIER_CLIP, temperature: 1 },
      control: config.ESPALIER_CONTROL,
      log: logger,
      stop,
      waitSeconds: config.ESPALIER_POLL_SECONDS,
      batchesPerVersion: (run) => runs.batchesPerVersion(run),
      temperature: (run) => runs.temperature(run),
      onTrained: (run, checkpoint, figures) => {
        batches.inc({ run });
        version.set({ run }, checkpoint.version);
        offPolicy.set({ run }, figures.off_policy);
      },
    });
    await learner.serve(runId);
  };
}
