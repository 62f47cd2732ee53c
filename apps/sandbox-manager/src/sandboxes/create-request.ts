import type { SandboxRequest } from '../drivers/driver.ts';
import { asBoolean, asInteger, asString, asStringList, asStringMap, type Coerced } from '../validation/coercions.ts';
import { FieldReader } from '../validation/fields.ts';

const DNS_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const PAYLOAD = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const SHA256 = /^[0-9a-f]{64}$/;

export interface CreateDefaults {
  readonly cpu: string;
  readonly memory: string;
  /** Seconds. */
  readonly timeout: number;
}

/** Reads `POST /sandboxes`. Throws 422 with every issue. */
export function readCreateRequest(
  body: Record<string, unknown>,
  defaults: CreateDefaults,
): { readonly id: string | null; readonly request: SandboxRequest } {
  const fields = new FieldReader('body', body);
  const image = fields.required('image', asString, '');
  const blockNetwork = fields.optional('block_network', asBoolean, true);
  const id = fields.nullable('sandbox_id', asString);
  const cpu = fields.nullable('cpu', asString);
  const memory = fields.nullable('memory', asString);
  const timeout = fields.nullable('timeout', asInteger);
  const taskPackage = fields.nullable('task_package', asPackage);
  const env = fields.nullable('env', asStringMap) ?? {};
  const payloads = fields.nullable('payloads', asStringList) ?? [];
  const labels = fields.nullable('labels', asStringMap) ?? {};
  const runId = fields.nullable('run_id', asString);
  const owner = fields.nullable('owner', asString);
  const lease = fields.nullable('lease_seconds', asInteger);
  if (id !== null && id !== '' && !DNS_LABEL.test(id))
    fields.report('value_error', 'sandbox_id', 'Value error, lower-case letters, digits and hyphens, at most 63');
  if (payloads.some((name) => !PAYLOAD.test(name)))
    fields.report('value_error', 'payloads', 'Value error, payload names are lower-case words');
  if (lease !== null && lease < 0) fields.report('value_error', 'lease_seconds', 'Value error, not below 0');
  fields.done();
  return {
    id: id === '' ? null : id,
    request: {
      image,
      block_network: blockNetwork,
      cpu: cpu || defaults.cpu,
      memory: memory || defaults.memory,
      timeout: timeout || defaults.timeout,
      task_package: taskPackage,
      env,
      payloads,
      labels,
      run_id: runId,
      owner,
      lease_seconds: lease,
    },
  };
}

function asPackage(input: unknown, loc: readonly (string | number)[]): Coerced<{ key: string; sha256: string }> {
  const map = asStringMap(input, loc);
  if ('issues' in map) return map;
  const { key = '', sha256 = '' } = map.value;
  if (key !== '' && SHA256.test(sha256)) return { value: { key, sha256 } };
  return {
    issues: [{ type: 'value_error', loc, msg: 'Value error, give key and sha256 of the task package', input }],
  };
}

/** Whether two requests ask for the same sandbox, whatever the order of their keys. */
export function sameRequest(left: SandboxRequest, right: SandboxRequest): boolean {
  return canonical(left) === canonical(right);
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
