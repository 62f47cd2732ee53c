import type { GroupConfig } from '@espalier/contracts';
import { advantagesOf } from '@espalier/estimators';
import { decideGroup, type PoolMember } from '@espalier/group-policies';
import { parseAnswer, renderPrompt, type Conversation, type Turn } from '../policy-model/chat-template.ts';
import { LogitTable } from '../policy-model/logit-table.ts';
import { printCommand } from '../policy-model/program-edits.ts';
import { sampleAnswer, uniformFrom } from '../policy-model/sampling.ts';
import { update, type GradientOptions, type GradientSample } from '../training/policy-gradient.ts';

/** A task as the simulation knows it: what the agent sees, and which ends pass. */
export interface SimulatedTask {
  readonly name: string;
  readonly instruction: string;
  readonly path: string;
  readonly program: string;
  /** Whether the edits made, as commands in order, solve the task. */
  readonly passes: (commands: readonly string[]) => boolean;
}

/** How to simulate a run. */
export interface SimulationOptions {
  readonly tasks: readonly SimulatedTask[];
  readonly rollouts: number;
  readonly group: GroupConfig;
  readonly batch: number;
  /** eta: most versions a sampled token may lag. */
  readonly maxStaleness: number;
  readonly gradient: GradientOptions;
  readonly seed: number;
  /** `off`: batches are formed, nothing is learned. `shuffled`: rewards are exchanged within the whole run. */
  readonly control?: 'off' | 'shuffled';
}

/** What a simulated run gave. */
export interface SimulatedRun {
  /** Verdict of every launched rollout, in order. */
  readonly passed: readonly boolean[];
  readonly batches: number;
  readonly filtered: number;
  readonly table: LogitTable;
}

interface Rollout {
  readonly passed: boolean;
  readonly sample: Omit<GradientSample, 'advantage'>;
}

const TOOL = 'bash';
const SYSTEM = 'You work on a task in a Linux sandbox through one tool, bash.';

/** Plays one rollout: the harness's conversation with the policy, the sandbox reduced to printing the program. */
export function play(task: SimulatedTask, table: LogitTable, seed: number, id: string): Rollout {
  const turns: Turn[] = [
    { role: 'system', text: SYSTEM, calls: [] },
    { role: 'user', text: task.instruction, calls: [] },
  ];
  const commands: string[] = [];
  const tokens: number[] = [];
  const logprobs: number[] = [];
  const maskRuns: number[] = [];
  for (let turn = 0; turn < 8; turn++) {
    const conversation: Conversation = { tools: [TOOL], turns };
    const prompt = renderPrompt(conversation);
    if (!tokens.every((token, at) => prompt[at] === token)) throw new Error('the prompt does not extend the last one');
    const answer = sampleAnswer(prompt, table, { temperature: 1, seed, maxTokens: 4_096 });
    maskRuns.push(prompt.length - tokens.length, answer.tokens.length);
    for (const token of prompt.slice(tokens.length)) {
      tokens.push(token);
      logprobs.push(0);
    }
    for (const { token, logprob } of answer.tokens) {
      tokens.push(token);
      logprobs.push(logprob);
    }
    const message = parseAnswer(answer.tokens.map(({ token }) => token));
    turns.push({ role: 'assistant', ...message });
    const [call] = message.calls;
    if (!call) break;
    const { command } = JSON.parse(call.arguments) as { command: string };
    const prints = command === printCommand(task.path);
    if (!prints) commands.push(command);
    turns.push({ role: 'tool', text: `${prints ? numbered(task.program) : ''}[exit code: 0]`, calls: [] });
  }
  return {
    passed: task.passes(commands),
    sample: {
      sample_id: `${id}/a0/t/s0`,
      token_ids: Int32Array.from(tokens),
      logprobs: Float32Array.from(logprobs),
      mask_runs: maskRuns,
    },
  };
}

/** What `cat -n` prints of a program. */
export const numbered = (program: string): string =>
  program
    .replace(/\n$/, '')
    .split('\n')
    .map((line, index) => `${String(index + 1).padStart(6)}\t${line}\n`)
    .join('');

/**
 * A run without log, sandboxes or processes: admission, group policy, batches and update are those of the product, with
 * as much lag between sampling and training as admission allows.
 */
export function simulate(options: SimulationOptions): SimulatedRun {
  const { tasks, group, batch, gradient, seed } = options;
  const uniform = uniformFrom(`simulation ${seed}`);
  const passed: boolean[] = [];
  const seen: boolean[] = [];
  let table = new LogitTable();
  let trained = 0;
  let filtered = 0;
  let admission = 0;
  const open: { task: SimulatedTask; id: string; table: LogitTable }[] = [];
  const pooled: GradientSample[] = [];
  while (passed.length < options.rollouts) {
    // Admission, as the run processor bounds it.
    const room = (options.maxStaleness + trained + 1) * batch - trained * batch - pooled.length;
    while (open.length * group.size < room) {
      const task = tasks[admission % tasks.length];
      if (!task) throw new Error('a simulation needs tasks');
      open.push({ task, id: `sim/${task.name}/${admission++}`, table });
    }
    // Groups end in any order.
    const [next] = open.splice(Math.floor(uniform() * open.length), 1);
    if (!next) throw new Error('admission opened no group');
    const rollouts: Rollout[] = [];
    const pool: PoolMember[] = [];
    for (let index = 0; index < group.budget; index++) {
      const id = `${next.id}/r${index}`;
      rollouts.push(play(next.task, next.table, Math.floor(uniform() * 2 ** 31), id));
      const verdict = rollouts.at(-1)?.passed ?? false;
      passed.push(verdict);
      // The control keeps the share of passes and breaks its tie to what was done.
      if (seen.length < 512) seen.push(verdict);
      else seen[Math.floor(uniform() * seen.length)] = verdict;
      const shown = options.control === 'shuffled' ? (seen[Math.floor(uniform() * seen.length)] ?? false) : verdict;
      pool.push({
        trajectoryId: `${id}/a0/t`,
        rolloutIndex: index,
        status: 'COMPLETED',
        reward: shown ? 1 : 0,
        sampledTokens: 0,
        order: index,
      });
    }
    const verdict = decideGroup({ config: group, scored: pool, unscorable: [], open: 0, launched: group.budget });
    if (verdict.kind !== 'ACCEPT') {
      filtered++;
      continue;
    }
    const members = verdict.selected.map((id) => pool.findIndex(({ trajectoryId }) => trajectoryId === id));
    const advantages = advantagesOf(
      'grpo',
      members.map((index) => pool[index]?.reward ?? 0),
    );
    for (const [at, index] of members.entries()) {
      const rollout = rollouts[index];
      if (rollout) pooled.push({ ...rollout.sample, advantage: advantages[at] ?? 0 });
    }
    if (pooled.length < batch) continue;
    const samples = pooled.splice(0, batch);
    trained++;
    if (options.control === 'off') continue;
    table = table.copy();
    update(table, samples, gradient);
  }
  return { passed, batches: trained, filtered, table };
}

/** Share of passes among the `window` rollouts before `at`. */
export const passRateAt = (passed: readonly boolean[], at: number, window: number): number => {
  const part = passed.slice(Math.max(0, at - window), at);
  return part.filter(Boolean).length / Math.max(1, part.length);
};
