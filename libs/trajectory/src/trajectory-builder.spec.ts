import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatMessage } from './canonical-message.ts';
import { TrajectoryLogError } from './errors.ts';
import { expandMask } from './runs.ts';
import { ScriptedAttempt } from './testing/scripted-attempt.ts';
import { TrajectoryBuilder, type BuiltTrajectory } from './trajectory-builder.ts';

/** A conversation as a harness holds it: its messages and how they are rendered. */
interface Thread {
  readonly messages: readonly ChatMessage[];
  readonly tokens: readonly number[];
  /** Where the last answer begins in tokens. */
  readonly answerAt: number;
}

/** One thing a harness may do next, on one of the threads it holds. */
interface Step {
  readonly kind: 'extend' | 'retry' | 'side' | 'drift';
  readonly thread: number;
  readonly tokens: number;
  readonly version: number;
  readonly sameText: boolean;
  /** Tokens from the end of the held sequence at which a drifted prompt departs. */
  readonly back: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('extend', 'extend', 'extend', 'retry', 'side', 'drift'),
  thread: fc.nat(20),
  tokens: fc.integer({ min: 0, max: 90 }),
  version: fc.integer({ min: 1, max: 3 }),
  sameText: fc.boolean(),
  back: fc.integer({ min: 1, max: 80 }),
});

function play(steps: readonly Step[]): ScriptedAttempt {
  const attempt = new ScriptedAttempt();
  const threads: Thread[] = [];
  let fresh = 1;
  const user = (text: string): { message: ChatMessage; tokens: number[] } => ({
    message: { role: 'user', content: text },
    tokens: [fresh++, fresh++],
  });
  const ask = (thread: Thread, { tokens, version, sameText }: Step): void => {
    const text = sameText ? 'the same answer' : `answer ${attempt.log.length}`;
    const { message, output } = attempt.call(thread.messages, thread.tokens, { text, tokens, version });
    threads.push({
      messages: [...thread.messages, message],
      tokens: [...thread.tokens, ...output],
      answerAt: thread.tokens.length,
    });
  };
  for (const [index, current] of steps.entries()) {
    const held = threads[current.thread % Math.max(1, threads.length)];
    if (!held || current.kind === 'side') {
      const { message, tokens } = user(`task ${index}`);
      ask({ messages: [message], tokens, answerAt: 0 }, current);
      continue;
    }
    if (current.kind === 'retry') {
      // The same prompt again: the messages before the answer.
      ask({ ...held, messages: held.messages.slice(0, -1), tokens: held.tokens.slice(0, held.answerAt) }, current);
      continue;
    }
    const { message, tokens } = user(`turn ${index}`);
    const drifted = current.kind === 'drift';
    const kept = drifted ? held.tokens.slice(0, Math.max(0, held.tokens.length - current.back)) : held.tokens;
    const changed = drifted ? [fresh++, fresh++] : [];
    ask({ messages: [...held.messages, message], tokens: [...kept, ...changed, ...tokens], answerAt: 0 }, current);
  }
  return attempt;
}

interface MaskedToken {
  readonly id: number;
  readonly logprob: number;
  readonly version: number;
}

function maskedTokens({ body }: BuiltTrajectory): MaskedToken[] {
  return body.samples.flatMap((sample) => {
    const mask = expandMask(sample.mask_runs);
    expect(mask.length).toBe(sample.token_ids.length);
    expect(sample.logprobs.length).toBe(sample.token_ids.length);
    const versions = sample.version_runs.flatMap(({ version, length }) => Array<number>(length).fill(version));
    const masked = [...mask.keys()].filter((at) => mask[at] === 1);
    expect(versions.length).toBe(masked.length);
    return masked.map((at, index) => ({
      id: sample.token_ids[at] ?? -1,
      logprob: sample.logprobs[at] ?? 0,
      version: versions[index] ?? -1,
    }));
  });
}

describe('TrajectoryBuilder', () => {
  it('puts every sampled token into exactly one mask, or counts it as realigned', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 24 }), (steps) => {
        const attempt = play(steps);
        const built = attempt.builder.build();
        const masked = maskedTokens(built);
        const realigned = built.body.samples.reduce((sum, sample) => sum + (sample.realigned_tokens ?? 0), 0);
        expect(new Set(masked.map(({ id }) => id)).size).toBe(masked.length);
        expect(masked.length + realigned).toBe(attempt.sampled.size);
        expect(built.counts.sampled_tokens).toBe(attempt.sampled.size);
        for (const { id, logprob, version } of masked) {
          expect(attempt.sampled.get(id)).toEqual({ logprob, version });
        }
      }),
      { numRuns: 300 },
    );
  });

  it('realigns nothing where no prompt drifts', () => {
    const steady = step.filter(({ kind }) => kind !== 'drift');
    fc.assert(
      fc.property(fc.array(steady, { minLength: 1, maxLength: 20 }), (steps) => {
        const attempt = play(steps);
        expect(maskedTokens(attempt.builder.build()).length).toBe(attempt.sampled.size);
      }),
    );
  });

  it('is rebuilt from the log alone, whole or continued half-way', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 16 }), fc.nat(16), (steps, cut) => {
        const attempt = play(steps);
        const identity = { ...new ScriptedAttempt().builder.build().body };
        const rebuilt = new TrajectoryBuilder({
          trajectoryId: identity.trajectory_id,
          attemptId: identity.attempt_id,
          taskId: identity.task_id,
          harness: identity.harness,
          model: identity.model,
          instruction: identity.instruction,
        });
        for (const record of attempt.log.slice(0, cut)) expect(rebuilt.apply(record)).toBe(true);
        rebuilt.build();
        for (const record of attempt.log.slice(cut)) rebuilt.apply(record);
        // A record read twice changes nothing.
        for (const record of attempt.log) expect(rebuilt.apply(record)).toBe(false);
        expect(rebuilt.build()).toEqual(attempt.builder.build());
      }),
    );
  });

  const system: ChatMessage = { role: 'system', content: 'be brief' };
  const task: ChatMessage = { role: 'user', content: 'fix it' };
  const answer = (text: string, tokens = 4) => ({ text, tokens, version: 1 });

  it('makes one sample of a plain conversation, whatever shape the harness resends it in', () => {
    const attempt = new ScriptedAttempt();
    const first = attempt.call([system, task], [1, 2, 3], answer('run ls'));
    const resent: ChatMessage = {
      role: 'assistant',
      content: [{ type: 'text', text: ' run ls\n', cache_control: {} }],
    };
    const output: ChatMessage = { role: 'user', content: 'README' };
    attempt.call([system, task, resent, output], [1, 2, 3, ...first.output, 9, 9], answer('done'));
    const { body, counts } = attempt.builder.build('the log');
    expect(counts).toMatchObject({ model_calls: 2, turns: 2, samples: 1, sampled_tokens: 8, prompt_tokens: 12 });
    expect(body.nodes.map(({ role, parent }) => [role, parent])).toEqual([
      ['system', -1],
      ['user', 0],
      ['assistant', 1],
      ['user', 2],
      ['assistant', 3],
    ]);
    expect(body.samples[0]?.mask_runs).toEqual([3, 4, 2, 4]);
    expect(body.samples[0]?.leaf_node).toBe(4);
    expect(body.harness_log).toBe('the log');
  });

  it('masks out a short drift within the last answer and forks on a longer one', () => {
    const attempt = new ScriptedAttempt();
    const next: ChatMessage = { role: 'user', content: 'go on' };
    const first = attempt.call([task], [1, 2], answer('a', 10));
    const kept = first.output.slice(0, 7);
    attempt.call([task, first.message, next], [1, 2, ...kept, 70, 71, 9], answer('b', 3));
    const realigned = attempt.builder.build();
    expect(realigned.body.samples.map((sample) => [sample.mask_runs, sample.realigned_tokens])).toEqual([
      [[2, 7, 3, 3], 3],
    ]);
    attempt.call([task, first.message, next], [1, 2, first.output[0] ?? 0, 80, 81], answer('c', 2));
    const forked = attempt.builder.build();
    expect(forked.body.samples.map((sample) => [sample.mask_runs, sample.realigned_tokens])).toEqual([
      [[2, 7, 3, 3], 3],
      [[5, 2], 0],
    ]);
  });

  it('does not lose what one path realigns and another keeps', () => {
    const attempt = new ScriptedAttempt();
    const first = attempt.call([task], [1, 2], answer('a', 10));
    const kept = first.output.slice(0, 7);
    attempt.call([task, first.message, { role: 'user', content: 'x' }], [1, 2, ...kept, 70], answer('b', 3));
    attempt.call([task, first.message, { role: 'user', content: 'y' }], [1, 2, ...first.output, 71], answer('c', 3));
    const { body } = attempt.builder.build();
    expect(body.samples.map((sample) => [sample.mask_runs, sample.realigned_tokens])).toEqual([
      [[2, 7, 1, 3], 0],
      [[9, 3, 1, 3], 0],
    ]);
  });

  it('tells calls apart by what they are for', () => {
    const attempt = new ScriptedAttempt();
    const tools = '[{"type":"function"}]';
    attempt.call([{ role: 'system', content: 'Generate a concise title' }, task], [5], answer('a title'));
    const main = attempt.call([system, task], [1, 2], { ...answer('go'), toolsJson: tools });
    attempt.call([{ role: 'system', content: 'you are a sub agent' }, task], [6], { ...answer('s'), toolsJson: tools });
    attempt.call([{ role: 'user', content: 'is this safe?' }], [7], answer('yes'));
    const compact: ChatMessage = { role: 'user', content: 'You are performing a CONTEXT CHECKPOINT COMPACTION.' };
    attempt.call([system, task, main.message, compact], [1, 2, ...main.output, 8], answer('summary'));
    attempt.call([system, task, { role: 'user', content: 'summary' }], [1, 2, 3], {
      ...answer('on'),
      toolsJson: tools,
    });
    const classes = attempt.builder.build().body.calls.map(({ call_class }) => call_class);
    expect(classes).toEqual(['title', 'main', 'sub', 'side', 'compaction', 'main']);
  });

  it('ignores records of an epoch that was adopted away', () => {
    const attempt = new ScriptedAttempt();
    attempt.call([task], [1, 2], answer('a'));
    const mark = attempt.log[0];
    if (!mark) throw new Error('no record');
    expect(attempt.builder.apply({ ...mark, kind: 'ADOPTED', epoch: 2, call_id: 'x' })).toBe(true);
    expect(attempt.builder.apply({ ...mark, call_id: 'run/task/0/r0/a0/c1', call_no: 1, epoch: 1 })).toBe(false);
    expect(attempt.builder.callCount).toBe(1);
  });

  it('refuses records that do not fit together', () => {
    const attempt = new ScriptedAttempt();
    attempt.call([task], [1, 2], answer('a'));
    const [good] = attempt.log;
    if (!good) throw new Error('no record');
    const next = { ...good, call_id: 'c9', call_no: 9 };
    const bad = [
      { ...next, parent_call_id: 'nobody' },
      { ...next, output_logprobs: new Float32Array(1) },
      { ...next, version_runs: [] },
      { ...next, prompt_token_count: 7 },
      { ...next, messages_json: null },
      { ...next, messages_json: '{}' },
      { ...next, messages_from: 3 },
    ];
    for (const record of bad) expect(() => attempt.builder.apply(record)).toThrow(TrajectoryLogError);
  });

  it('keeps failed calls as calls, without an answer', () => {
    const attempt = new ScriptedAttempt();
    attempt.call([task], [1, 2], answer('a'));
    const { drift: _none, ...delta } = attempt.builder.delta({ messages: [task], toolsJson: null }, null);
    const [good] = attempt.log;
    if (!good) throw new Error('no record');
    const failure = { class: 'INFRA', code: 'LLM_TIMEOUT', message: 'slow', stage: 'model', retryable: true } as const;
    const empty = { output_ids: new Int32Array(0), output_logprobs: new Float32Array(0), version_runs: [] };
    attempt.builder.apply({ ...good, ...delta, ...empty, call_no: 1, call_id: 'c1', response_json: null, failure });
    const { body, counts } = attempt.builder.build();
    expect(counts).toMatchObject({ model_calls: 2, samples: 1 });
    expect(body.calls[1]).toMatchObject({ answer_node: -1, failure: { code: 'LLM_TIMEOUT' } });
  });
});
