import type { AgentJobRequest } from '../agent/agent-client.ts';
import { asBoolean, asCommand, asInteger, asString, asStringList, asStringMap } from '../validation/coercions.ts';
import { FieldReader } from '../validation/fields.ts';

/** A command as it was asked for: kept with the sandbox until that ends. */
export interface ExecRequest {
  /** As the job object shows it: a list is joined by one space. */
  readonly command: string;
  readonly argv: readonly string[] | null;
  readonly cwd: string | null;
  readonly strictCwd: boolean;
  readonly env: Readonly<Record<string, string>> | null;
  readonly loginShell: boolean;
  readonly timeoutMs: number;
  readonly stdin: string | null;
  readonly maxOutputBytes: number | null;
  /** Beside other commands of the sandbox, not after them. */
  readonly parallel: boolean;
}

/** Reads `POST /sandboxes/X/exec`. Throws 422 with every issue. */
export function readExecRequest(
  body: Record<string, unknown>,
  defaultSeconds: number,
): { readonly exec: ExecRequest; readonly wait: boolean } {
  const fields = new FieldReader('body', body);
  const argv = 'argv' in body ? fields.nullable('argv', asStringList) : null;
  const command = argv === null ? fields.required('command', asCommand, '') : argv;
  const seconds = fields.nullable('timeout_seconds', asInteger);
  const cwd = fields.nullable('cwd', asString);
  const env = fields.nullable('env', asStringMap);
  const loginShell = fields.optional('login_shell', asBoolean, false);
  const wait = fields.optional('wait', asBoolean, false);
  const milliseconds = fields.nullable('timeout_ms', asInteger);
  const stdin = fields.nullable('stdin', asString);
  const maxOutputBytes = fields.nullable('max_output_bytes', asInteger);
  const parallel = fields.optional('parallel', asBoolean, false);
  const strictCwd = fields.optional('strict_cwd', asBoolean, false);
  if (argv !== null && argv.length === 0) fields.report('value_error', 'argv', 'Value error, argv needs a program');
  fields.done();
  const timeoutMs = milliseconds ?? (seconds || defaultSeconds) * 1000;
  return {
    wait,
    exec: {
      command: typeof command === 'string' ? command : command.join(' '),
      argv,
      cwd,
      strictCwd,
      env,
      loginShell,
      timeoutMs,
      stdin,
      maxOutputBytes,
      parallel,
    },
  };
}

/** The agent's form of a request. */
export function agentRequest(exec: ExecRequest): AgentJobRequest {
  return {
    ...(exec.argv === null ? { command: exec.command } : { argv: exec.argv }),
    ...(exec.cwd === null ? {} : { cwd: exec.cwd }),
    ...(exec.strictCwd ? { strict_cwd: true } : {}),
    ...(exec.env === null ? {} : { env: exec.env }),
    timeout_ms: Math.max(1, exec.timeoutMs),
    ...(exec.loginShell ? { login_shell: true } : {}),
    ...(exec.stdin === null ? {} : { stdin_base64: exec.stdin }),
    ...(exec.maxOutputBytes === null ? {} : { max_output_bytes: exec.maxOutputBytes }),
  };
}
