import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HarnessExit, HarnessInput } from '../harness.ts';
import { mini } from './mini-harness.ts';

const run = promisify(execFile);
const input: HarnessInput = {
  instruction: 'Fix /app/x.\n',
  workdir: '/app',
  baseUrl: 'http://127.0.0.1:4010/a/run/task/0/r0/a0',
  apiKey: 'token',
  model: 'policy',
  wallMs: 600_000,
  configJson: '{}',
  taskFiles: [],
};
const exit = (changes: Partial<HarnessExit>): HarnessExit => ({
  exitCode: 0,
  signal: null,
  timedOut: false,
  stdoutTail: '',
  stderrTail: '',
  ...changes,
});

describe('mini', () => {
  it('plans a start with the instruction unchanged and the key outside of the arguments', () => {
    const plan = mini.plan({ ...input, configJson: '{"max_turns": 7, "stream": true}' });
    expect(plan.files).toEqual([
      { path: '/logs/agent/instruction.md', content: Buffer.from('Fix /app/x.\n'), mode: 0o644 },
    ]);
    expect(plan.argv.join(' ')).toBe(
      '/opt/espalier/mini/mini-agent --model policy --instruction-file /logs/agent/instruction.md --cwd /app ' +
        '--max-turns 7 --command-timeout 120s --log /logs/agent/mini.jsonl --stream',
    );
    expect(plan.env).toEqual({
      OPENAI_BASE_URL: 'http://127.0.0.1:4010/a/run/task/0/r0/a0/v1',
      OPENAI_API_KEY: 'token',
    });
    expect(plan.cwd).toBe('/app');
  });

  it('gives no command more time than the whole rollout has', () => {
    expect(mini.plan({ ...input, wallMs: 30_500 }).argv).toContain('31s');
  });

  it.each([
    [{ exitCode: 0 }, 'COMPLETED', 'SUBMITTED', null],
    [{ exitCode: 2 }, 'TRUNCATED', 'MODEL_CALLS', 'BUDGET'],
    [{ exitCode: 5 }, 'TRUNCATED', 'TOKENS', 'BUDGET'],
    [{ exitCode: null, signal: 'SIGKILL', timedOut: true }, 'TRUNCATED', 'WALL_CLOCK', 'BUDGET'],
    [{ exitCode: 3 }, 'FAILED', 'MODEL_ENDPOINT', 'INFRA'],
    [{ exitCode: 4 }, 'FAILED', 'HARNESS_CRASH', 'INFRA'],
    [{ exitCode: 6 }, 'FAILED', 'CANCELLED', 'CONTROL'],
    [{ exitCode: 1 }, 'FAILED', 'HARNESS_CRASH', 'INFRA'],
    [{ exitCode: 127 }, 'FAILED', 'HARNESS_CRASH', 'INFRA'],
    [{ exitCode: 42 }, 'FAILED', 'HARNESS_CRASH', 'INFRA'],
    [{ exitCode: null, signal: 'SIGSEGV' }, 'FAILED', 'HARNESS_CRASH', 'INFRA'],
  ] as const)('reads the end %o as %s %s', (end, status, stopReason, failureClass) => {
    const outcome = mini.outcome(exit(end));
    expect([outcome.status, outcome.stopReason, outcome.failure?.class ?? null]).toEqual([
      status,
      stopReason,
      failureClass,
    ]);
    expect(outcome.failure?.message.length ?? 1).toBeGreaterThan(0);
  });

  it('says what the agent said, within bounds', () => {
    const { failure } = mini.outcome(exit({ exitCode: 3, stderrTail: `${'x'.repeat(5_000)} refused` }));
    expect(failure?.message).toMatch(/refused$/);
    expect(failure?.message.length).toBeLessThanOrEqual(1_000);
  });
});

describe('mini, with its binary', () => {
  let directory: string;
  let binary: string;
  let server: Server;
  const requests: { messages: { role: string; content: string | null }[] }[] = [];

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'espalier-mini-'));
    binary = join(directory, 'mini-agent');
    const root = join(import.meta.dirname, '../../../..');
    await run('go', ['build', '-o', binary, './apps/mini-agent'], {
      cwd: root,
      env: { ...process.env, CGO_ENABLED: '0' },
    });
    const answers = [
      { tool_calls: [{ id: 'a', type: 'function', function: { name: 'bash', arguments: '{"command":"echo 2 >x"}' } }] },
      { content: 'done' },
    ];
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        requests.push(JSON.parse(Buffer.concat(chunks).toString('utf8')) as (typeof requests)[number]);
        const message = { role: 'assistant', content: null, ...answers[requests.length - 1] };
        response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  }, 120_000);

  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve));
    await rm(directory, { recursive: true, force: true });
  });

  it('starts as planned, does its work and is read as submitted', async () => {
    const { port } = server.address() as AddressInfo;
    const plan = mini.plan({ ...input, workdir: directory, baseUrl: `http://127.0.0.1:${port}/attempt` });
    // The paths of the sandbox, moved to this directory.
    const [, ...args] = plan.argv.map((arg) => arg.replace('/logs/agent', directory));
    for (const { content } of plan.files) await writeFile(join(directory, 'instruction.md'), content);
    const { stdout, stderr } = await run(binary, args, { cwd: plan.cwd, env: { ...process.env, ...plan.env } });
    expect(mini.outcome(exit({ stdoutTail: stdout, stderrTail: stderr })).stopReason).toBe('SUBMITTED');
    expect(JSON.parse(stdout)).toMatchObject({ status: 'submitted', exit_code: 0, turns: 2, tool_calls: 1 });
    expect(await readFile(join(directory, 'x'), 'utf8')).toBe('2\n');
    expect(requests[0]?.messages[1]).toEqual({ role: 'user', content: input.instruction });
    expect(await readFile(join(directory, 'mini.jsonl'), 'utf8')).toContain('"type":"end"');
  });
});
