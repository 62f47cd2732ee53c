import 'reflect-metadata';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Controller, Get, Inject, Module } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import { RetryableError, TerminalError, type KafkaPort } from '@espalier/kafka';
import type { GroupDecided, RolloutRequested, RunCommanded } from '@espalier/contracts';
import { bootstrapService, ConfigError, EspalierContext, KAFKA, OnEvent, type RunningService } from '@espalier/nest';
import { afterEach, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { eventually, freshPrefix, open } from './open.ts';
import { group, request } from './requests.ts';

const heard: string[] = [];
const ran: string[] = [];

@Controller()
class Handlers {
  @OnEvent('group.decided', { kind: 'facts', group: 'value-reranker' })
  decided(event: GroupDecided, context: EspalierContext): void {
    heard.push(`decided ${event.group_id} at ${context.getEvent()?.offset}`);
    if (event.group_id.endsWith('/1')) throw new TerminalError('TEST_BAD', 'this group is bad');
    if (event.group_id.endsWith('/2')) throw new RetryableError('TEST_LATER', 'not yet');
  }

  @EventPattern('run.commanded', { kind: 'broadcast' })
  async commanded(@Payload() event: RunCommanded): Promise<void> {
    await Promise.resolve();
    heard.push(`commanded ${event.command}`);
  }

  @OnEvent('rollout.requested', { kind: 'work', group: 'rollout-runner', work: 'ROLLOUT', slots: 2 })
  async work(event: RolloutRequested, context: EspalierContext): Promise<void> {
    await Promise.resolve();
    ran.push(`${event.attempt_id} ${context.getClaim().epoch}`);
    if (event.rollout_index === 1) throw new Error('broken');
  }

  @OnEvent('rollout.requested', { kind: 'failure', group: 'rollout-runner' })
  failed({ request: failed, error }: { request: RolloutRequested; error: unknown }): void {
    ran.push(`failed ${failed.attempt_id} ${String(error)}`);
  }
}

@Controller('hello')
class HelloController {
  constructor(@Inject(KAFKA) private readonly kafka: KafkaPort) {}
  @Get()
  hello(): { prefix: string } {
    return { prefix: this.kafka.connection.prefix };
  }
}

@Module({ controllers: [Handlers, HelloController] })
class AppModule {}

let service: RunningService | undefined;
let dir = '';

afterEach(async () => {
  await service?.stop();
  service = undefined;
  if (dir !== '') rmSync(dir, { recursive: true, force: true });
});

it('runs a service: HTTP, probes, metrics, event handlers, ordered end', async () => {
  dir = mkdtempSync(join(tmpdir(), 'espalier-nest-'));
  const prefix = freshPrefix();
  service = await bootstrapService({
    name: 'test-service',
    module: AppModule,
    config: z.object({ TEST_SETTING: z.coerce.number() }),
    http: true,
    ownsProcess: false,
    env: {
      ESPALIER_KAFKA_BROKERS: inject('brokers').join(','),
      ESPALIER_PREFIX: prefix,
      ESPALIER_OBJECTS: pathToFileURL(dir).href,
      ESPALIER_LOG_LEVEL: 'silent',
      ESPALIER_DRAIN_MS: '500',
      TEST_SETTING: '5',
    },
  });
  const { url, metricsUrl } = service;
  expect(service.context.config).toEqual({ TEST_SETTING: 5 });
  expect(Object.isFrozen(service.context.config)).toBe(true);
  expect(await (await fetch(`${url}/hello`)).json()).toEqual({ prefix });
  for (const probe of ['live', 'ready', 'started'])
    expect((await fetch(`${metricsUrl}/health/${probe}`)).status).toBe(200);

  const kafka = open(prefix);
  const producer = kafka.producer();
  const decided = (groupId: string) =>
    producer.send('group.decided', {
      run_id: 'run',
      group_id: groupId,
      task_id: 'task',
      outcome: 'ADMITTED',
      selection: 'EXACT',
      members: [],
      scored: 0,
      passed: 0,
    });
  await decided('run/task/0');
  await decided('run/task/1');
  await decided('run/task/2');
  await eventually('facts', () => heard.filter((line) => line.startsWith('decided')).length >= 3);
  await producer.send('run.commanded', { run_id: 'run', command: 'PAUSE', command_id: 'c1' });
  await eventually('broadcast', () => heard.includes('commanded PAUSE'));
  const count = async (topic: string): Promise<number> =>
    (await kafka.admin.endOffsets(`${prefix}.${topic}`)).reduce((sum, { offset }) => sum + offset, 0);
  await eventually('dead letter', async () => (await count('group.decided.v1.dead.value-reranker')) >= 1);
  await eventually('retry', async () => (await count('group.decided.v1.retry.value-reranker.5000ms')) >= 1);

  await group(kafka, () => ({ epoch: 3 }));
  await producer.send('rollout.requested', request(0));
  await producer.send('rollout.requested', request(1));
  await eventually('work', () => ran.length === 3);
  expect([...ran].sort()).toEqual([
    'failed run/task/0/r1/a0 Error: broken',
    'run/task/0/r0/a0 3',
    'run/task/0/r1/a0 3',
  ]);

  const scraped = await (await fetch(`${metricsUrl}/metrics`)).text();
  expect(scraped).toContain(
    'espalier_kafka_dead_letters_total{topic="group.decided",group="value-reranker",code="TEST_BAD"',
  );
  expect(scraped).toContain('nodejs_eventloop_lag_seconds');

  const stopping = service.stop();
  expect((await fetch(`${metricsUrl}/health/ready`)).status).toBe(503);
  await stopping;
  await expect(fetch(`${url}/hello`)).rejects.toThrow();
});

it('names every bad setting in one error', async () => {
  const start = bootstrapService({
    name: 'test-service',
    module: AppModule,
    config: z.object({ TEST_SETTING: z.coerce.number() }),
    ownsProcess: false,
    env: { ESPALIER_PROFILE: 'large', ESPALIER_HTTP_PORT: 'x' },
  });
  await expect(start).rejects.toThrow(ConfigError);
  await expect(start).rejects.toThrow(
    /ESPALIER_PROFILE.*ESPALIER_HTTP_PORT.*TEST_SETTING|ESPALIER_HTTP_PORT.*ESPALIER_PROFILE.*TEST_SETTING/s,
  );
});
