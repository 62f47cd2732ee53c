import type { EventMap } from '@espalier/contracts';
import { describe, expect, it } from 'vitest';
import { auditRun } from './audit-run.ts';
import { alterations, drops, duplicates, garbled, swaps, type Mutant } from './fixtures/mutations.ts';
import { completeRun, RUN } from './fixtures/run-scenario.ts';
import { CUT_ORDER, type AuditedTopic } from './log/cut.ts';
import type { Finding } from './report/finding.ts';

const { log, bodies } = completeRun();

async function findingsOf(mutant: Mutant): Promise<readonly Finding[]> {
  return (await auditRun(mutant.log, bodies, RUN, { now: () => log.clock })).findings;
}

/** Damages that leave a log the plane could have written, so that nothing can or should be found. */
type Harmless = { readonly [T in AuditedTopic]?: (event: EventMap[T]) => boolean };

const HARMLESS_DROPS: Harmless = {
  // A worker's progress: informs people, proves nothing. Its claim and its end are elsewhere.
  'rollout.reported': ({ kind }) => kind === 'PHASE' || kind === 'RELEASED',
  // What a sandbox did between its creation and its end; an end that is not reported is that of a machine that went away.
  'sandbox.reported': ({ kind }) => kind === 'READY' || kind === 'COMMAND' || kind === 'ENDED',
  // Rankings are made beside the run, by a service that may be away.
  'ranking.decided': () => true,
  // Without the last record the log is that of a moment before: an earlier cut, in which the run has not ended. A report
  // that answers nobody says again what the next one says.
  'run.reported': ({ kind }) => kind === 'ENDED' || kind === 'STATE',
  // Without its cancellation a ruling history is that of a claim which ended by itself; a later fact contradicts it only
  // when the worker speaks again.
  'rollout.ruled': ({ verdict }) => verdict === 'CANCELLED',
};

const isHarmless = (table: Harmless, { topic, event }: Mutant): boolean =>
  (table[topic] as ((event: EventMap[AuditedTopic]) => boolean) | undefined)?.(event) ?? false;

/** A journal without its last transaction is that of a moment before; replay finds the hole by the state it left. */
const isLast = ({ log: mutant, topic, partition, offset }: Mutant): boolean =>
  (mutant.partitionsOf(topic)[partition] ?? []).every((record) => record.offset < offset);

describe.each(CUT_ORDER)('a log with damage in %s', (topic) => {
  it('misses a record', async () => {
    for (const mutant of drops(log, topic)) {
      const findings = await findingsOf(mutant);
      if (isHarmless(HARMLESS_DROPS, mutant) || (topic.startsWith('journal.') && isLast(mutant))) continue;
      expect(findings.length, `drop of offset ${mutant.partition}:${mutant.offset}`).toBeGreaterThan(0);
    }
  });

  it('holds a record twice', async () => {
    for (const mutant of duplicates(log, topic)) {
      const places = (await findingsOf(mutant)).map(({ place }) => place);
      const { partition, offset } = mutant;
      expect(places).toContainEqual({ topic, partition, offset });
    }
  });

  it('has records in another order', async () => {
    // Records of different subjects commute: nothing depends on their order, so none is promised.
    const subject = (event: EventMap[AuditedTopic]): string => {
      const { attempt_id, group_id, sandbox_id } = event as {
        attempt_id?: string;
        group_id?: string;
        sandbox_id?: string;
      };
      return sandbox_id ?? attempt_id ?? group_id ?? event.run_id ?? 'journal';
    };
    for (const mutant of swaps(log, topic, (first, second) => subject(first) === subject(second))) {
      const found = (await findingsOf(mutant)).filter((finding) => finding.place.topic === topic);
      expect(found.length, `swap of ${mutant.partition}:${mutant.offset}`).toBeGreaterThan(0);
    }
  });
});

describe.each(CUT_ORDER)('a log with an unreadable record in %s', (topic) => {
  it('names it, and makes no absence of what it may have held', async () => {
    for (const mutant of garbled(log, topic)) {
      const { partition, offset } = mutant;
      const findings = await findingsOf(mutant);
      expect(findings).toMatchObject([{ code: 'SCHEMA_UNREADABLE', place: { topic, partition, offset } }]);
    }
  });
});

/** What is altered in each topic, and how. `undefined`: not in this record. */
const ALTERATIONS: {
  readonly [T in AuditedTopic]: Readonly<Record<string, (event: EventMap[T]) => Partial<EventMap[T]> | undefined>>;
} = {
  'run.submitted': {
    size: ({ config }) => ({ config: { ...config, group: { ...config.group, size: 4 } } }),
    limits: ({ config }) => ({ config: { ...config, limits: { ...config.limits, model_calls: 9 } } }),
    batch: ({ config }) => ({ config: { ...config, batch: { ...config.batch, size: 4 } } }),
  },
  'run.commanded': { command_id: () => ({ command_id: 'other' }) },
  'run.reported': {
    trained_seq: ({ trained_seq }) => ({ trained_seq: (trained_seq ?? 0) + 1 }),
    learner_epoch: ({ learner_epoch }) => ({ learner_epoch: (learner_epoch ?? 0) + 1 }),
    policy_version: ({ policy_version }) => ({ policy_version: (policy_version ?? 0) + 3 }),
    command_id: ({ command_id }) => (command_id === null ? undefined : { command_id: 'other' }),
    batches: ({ progress }) => (progress ? { progress: { ...progress, batches_offered: 9 } } : undefined),
    attempts: ({ progress }) => (progress ? { progress: { ...progress, attempts_ended: 99 } } : undefined),
    next_seq: ({ next_seq }) => (next_seq === null ? undefined : { next_seq: next_seq + 1 }),
  },
  'task.submitted': {
    package: (event) => ({ package: { ...event.package, sha256: '0'.repeat(64) } }),
    task_id: () => ({ task_id: 'gamma' }),
  },
  'group.opened': {
    size: ({ spec }) => ({ spec: { ...spec, group: { ...spec.group, size: 3 } } }),
    package: ({ task }) => ({ task: { ...task, package: { ...task.package, sha256: '0'.repeat(64) } } }),
    admission: ({ admission }) => ({ admission: admission + 7 }),
    group_id: () => ({ group_id: `${RUN}/gamma/0` }),
  },
  'group.commanded': { group_id: () => ({ group_id: `${RUN}/alpha/0` }) },
  'rollout.requested': {
    attempt_id: ({ attempt_id }) => ({ attempt_id: `${attempt_id}9` }),
    attempt_no: ({ attempt_no }) => ({ attempt_no: attempt_no + 1 }),
    group_id: () => ({ group_id: `${RUN}/gamma/0` }),
    purpose: () => ({ purpose: 'EVAL' }),
  },
  'rollout.reported': {
    claim_id: () => ({ claim_id: 'other' }),
    epoch: ({ epoch }) => ({ epoch: epoch + 1 }),
  },
  'rollout.ruled': {
    epoch: ({ verdict, epoch }) => (verdict === 'GRANTED' ? { epoch: epoch + 1 } : undefined),
    claim_id: ({ verdict }) => (verdict === 'GRANTED' ? { claim_id: 'other' } : undefined),
    verdict: ({ verdict }) => (verdict === 'GRANTED' ? { verdict: 'DENIED' } : undefined),
    work_id: ({ verdict }) => (verdict === 'GRANTED' ? { work_id: 'other' } : undefined),
  },
  'model.called': {
    token: ({ output_ids }) => ({ output_ids: output_ids.map((id, index) => (index === 0 ? id + 5000 : id)) }),
    logprob: ({ output_logprobs }) => ({ output_logprobs: output_logprobs.map((value) => value * 2) }),
    length: ({ output_ids }) => ({ output_ids: output_ids.slice(1) }),
    epoch: () => ({ epoch: 2 }),
    call_no: () => ({ call_no: 7 }),
  },
  'trajectory.recorded': {
    epoch: () => ({ epoch: 2 }),
    claim_id: () => ({ claim_id: 'other' }),
    body: ({ body }) => (body ? { body: { ...body, sha256: '0'.repeat(64) } } : undefined),
    trajectory_id: ({ trajectory_id }) => ({ trajectory_id: `${trajectory_id}9` }),
    tokens: ({ counts, body }) =>
      body ? { counts: { ...counts, sampled_tokens: counts.sampled_tokens + 1 } } : undefined,
    failure: ({ failure }) => (failure ? { failure: { ...failure, class: 'POLICY' } } : undefined),
    version: ({ body }) => (body ? { policy_version_min: 9 } : undefined),
  },
  'scoring.requested': {
    scorer: () => ({ scorer: 'other' }),
    work_id: ({ work_id }) => ({ work_id: `${work_id}9` }),
    snapshot: ({ snapshot }) => (snapshot ? { snapshot: { ...snapshot, sha256: '0'.repeat(64) } } : undefined),
  },
  'reward.reported': {
    score: ({ reward }) => ({ reward: { ...reward, score: 0.123 } }),
    infra: ({ reward }) => ({
      reward: {
        ...reward,
        status: 'INFRA_ERROR',
        failure: { class: 'INFRA', code: 'VERIFIER_LOST', message: '', stage: null, retryable: true },
      },
    }),
    scorer: ({ reward }) => ({ reward: { ...reward, scorer: 'other' } }),
    epoch: () => ({ epoch: 2 }),
    trajectory_id: ({ trajectory_id }) => ({ trajectory_id: `${trajectory_id}9` }),
  },
  'trajectory.scored': {
    reward: ({ reward }) => ({ reward: (reward ?? 0) + 0.25 }),
    passed: ({ passed }) => ({ passed: passed === false }),
    revision: ({ revision }) => ({ revision: revision + 1 }),
    score: ({ rewards }) => ({
      rewards: rewards.map((reward) => ({ ...reward, score: 0.25 })),
      reward: 0.25,
      passed: true,
    }),
    version: ({ policy_version_max }) => ({ policy_version_max: (policy_version_max ?? 0) + 1 }),
    body: ({ body }) => (body ? { body: { ...body, key: 'elsewhere' } } : undefined),
  },
  'rollout.ended': {
    outcome: ({ outcome }) => ({ outcome: outcome === 'FILTERED' ? 'POOLED' : 'FILTERED', reason: 'STALE' }),
    attempt_id: ({ attempt_id }) => ({ attempt_id: `${attempt_id}9` }),
    reward: ({ outcome, reward }) => (outcome === 'SPARE' ? undefined : { reward: (reward ?? 0) + 1 }),
    reason: ({ reason, outcome }) =>
      reason !== null && outcome !== 'SPARE' && outcome !== 'REPLACED' ? { reason: null } : undefined,
  },
  'group.decided': {
    advantage: ({ members }) =>
      members.some((member) => member.selected)
        ? { members: members.map((member) => ({ ...member, advantage: member.selected ? 3 : null })) }
        : undefined,
    reward: ({ members }) =>
      members.length > 0 ? { members: members.map((member) => ({ ...member, reward: 0.75 })) } : undefined,
    selected: ({ members }) =>
      members.length > 0
        ? { members: members.map((member) => ({ ...member, selected: !member.selected })) }
        : undefined,
    passed: ({ passed }) => ({ passed: passed + 1 }),
    pass_rate: () => ({ pass_rate: 0.33 }),
    replaced: ({ replaced }) => ({ replaced: replaced + 1 }),
    group_id: () => ({ group_id: `${RUN}/gamma/0` }),
    outcome: ({ outcome }) => ({ outcome: outcome === 'ADMITTED' ? 'FILTERED' : 'ADMITTED' }),
  },
  'batch.offered': {
    seq: ({ seq }) => ({ seq: seq + 1 }),
    digest: () => ({ digest: '0'.repeat(64) }),
    reward: ({ entries }) => ({ entries: entries.map((entry) => ({ ...entry, reward: 0.5 })) }),
    advantage: ({ entries }) => ({ entries: entries.map((entry) => ({ ...entry, advantage: 9 })) }),
    entries: ({ entries }) => ({ entries: entries.slice(1) }),
    learner_epoch: ({ learner_epoch, seq }) => (seq === 1 ? { learner_epoch: learner_epoch + 5 } : undefined),
  },
  'learner.joined': { command_id: () => ({ command_id: 'other' }) },
  'batch.trained': {
    seq: ({ seq }) => ({ seq: seq + 1 }),
    learner_epoch: ({ learner_epoch }) => ({ learner_epoch: learner_epoch + 1 }),
    command_id: () => ({ command_id: 'other' }),
  },
  'policy.published': {
    version: ({ phase, version }) => (phase === 'READY' ? { version: version + 7 } : undefined),
    after_batch: ({ phase }) => (phase === 'READY' ? { after_batch: 9 } : undefined),
    command_id: () => ({ command_id: 'other' }),
  },
  'ranking.decided': {
    order: ({ ranked }) => ({ ranked: [...ranked].reverse() }),
    passed: ({ ranked }) => ({ ranked: ranked.map((entry) => ({ ...entry, passed: entry.passed !== true })) }),
    choice: () => ({ best_trajectory_id: 'other' }),
    group_id: () => ({ group_id: `${RUN}/gamma/0` }),
  },
  'sandbox.reported': {
    sandbox_id: ({ kind }) => (kind === 'ENDED' ? undefined : { sandbox_id: 'other' }),
    kind: ({ kind }) => (kind === 'COMMAND' ? { kind: 'CREATED' } : undefined),
  },
  'journal.group': {
    transaction_no: ({ transaction_no }) => ({ transaction_no: transaction_no + 1 }),
    now: ({ now, transaction_no }) => (transaction_no === 1 ? undefined : { now: now - 1_000_000 }),
    applied: ({ applied, transaction_no }) =>
      transaction_no === 1 ? undefined : { applied: applied.map((range) => ({ ...range, first_offset: 0 })) },
  },
  'journal.run': {
    transaction_no: ({ transaction_no }) => ({ transaction_no: transaction_no + 1 }),
    now: ({ now, transaction_no }) => (transaction_no === 1 ? undefined : { now: now - 1_000_000 }),
    applied: ({ applied, transaction_no }) =>
      transaction_no === 1 ? undefined : { applied: applied.map((range) => ({ ...range, first_offset: 0 })) },
  },
};

function* altered<T extends AuditedTopic>(topic: T): Generator<Mutant> {
  for (const [what, change] of Object.entries(ALTERATIONS[topic]))
    yield* alterations(log, topic, what, change as never);
}

describe.each(CUT_ORDER)('a log with a record altered in %s', (topic) => {
  it('shows it', async () => {
    let tried = 0;
    for (const mutant of altered(topic)) {
      tried += 1;
      const findings = await findingsOf(mutant);
      expect(findings.length, `${mutant.what} at ${mutant.partition}:${mutant.offset}`).toBeGreaterThan(0);
      for (const { place, since } of findings) {
        expect(place.offset).toBeGreaterThanOrEqual(0);
        expect(since).toBeGreaterThan(0);
      }
    }
    expect(tried).toBeGreaterThan(0);
  });
});
