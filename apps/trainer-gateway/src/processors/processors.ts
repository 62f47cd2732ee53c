import { DEFAULT_TIMINGS, GroupMachine, RunMachine } from '@espalier/coordination';
import type { StateMachine } from '@espalier/contracts';
import type { ServiceContext, ServicePart } from '@espalier/nest';
import { ProcessorHost } from '@espalier/processor';
import type { TrainerGatewayConfig } from '../config.ts';
import { DecisionMetrics, observed } from './observed-machine.ts';

/** The two processors of this service: every replica owns a share of the partitions of each. */
export function processorsOf(context: ServiceContext<TrainerGatewayConfig>): [string, ServicePart][] {
  const { config } = context;
  const timings = { ...DEFAULT_TIMINGS, leaseMs: config.ESPALIER_LEASE_MS, parkMs: config.ESPALIER_PARK_MS };
  const metrics = new DecisionMetrics(context.metrics);
  const host = (machine: StateMachine): ServicePart =>
    new ProcessorHost({
      kafka: context.kafka,
      machine: observed(machine, metrics),
      group: `${machine.name}-processor`,
      instance: context.service.instance,
      logger: context.logger,
      onFatal: (error: Error) => context.lifecycle.fail(error),
    });
  return [
    ['group-processor', host(new GroupMachine(timings))],
    ['run-processor', host(new RunMachine(timings))],
  ];
}
