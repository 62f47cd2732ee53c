/** One operation of the API, for its description. */
type Operation = readonly [method: string, path: string, summary: string, body?: Readonly<Record<string, unknown>>];

const text = { type: 'string' };
const integer = { type: 'integer' };
const flag = { type: 'boolean' };
const texts = { type: 'object', additionalProperties: text };

const createBody = {
  type: 'object',
  required: ['image'],
  properties: {
    image: text,
    block_network: { ...flag, default: true },
    sandbox_id: text,
    cpu: text,
    memory: text,
    timeout: integer,
    task_package: { type: 'object', properties: { key: text, sha256: text } },
    env: texts,
    payloads: { type: 'array', items: text },
    labels: texts,
    run_id: text,
    owner: text,
    lease_seconds: integer,
  },
};

const execBody = {
  type: 'object',
  required: ['command'],
  properties: {
    command: { anyOf: [text, { type: 'array', items: text }] },
    argv: { type: 'array', items: text },
    timeout_seconds: integer,
    cwd: text,
    env: texts,
    login_shell: { ...flag, default: false },
    wait: { ...flag, default: false },
    parallel: { ...flag, default: false },
    stdin: { ...text, contentEncoding: 'base64' },
    max_output_bytes: integer,
  },
};

const fileBody = {
  type: 'object',
  required: ['path', 'content'],
  properties: { path: text, content: text, mode: text },
};
const patchBody = { type: 'object', required: ['patch'], properties: { patch: text, timeout_seconds: integer } };

const OPERATIONS: readonly Operation[] = [
  ['get', '/', 'Service'],
  ['get', '/health', 'Health'],
  ['get', '/resources', 'Capacity and requests'],
  ['post', '/sandboxes', 'Create a sandbox; idempotent by id', createBody],
  ['get', '/sandboxes/{sandbox_id}', 'A sandbox'],
  ['delete', '/sandboxes/{sandbox_id}', 'End a sandbox'],
  ['get', '/sandboxes/{sandbox_id}/wait', 'Wait until it is ready'],
  ['post', '/sandboxes/{sandbox_id}/heartbeat', 'Renew its lease'],
  ['post', '/sandboxes/{sandbox_id}/exec', 'Run a command; once per Idempotency-Key', execBody],
  ['post', '/sandboxes/{sandbox_id}/apply_patch', 'Apply a patch with git', patchBody],
  ['post', '/sandboxes/{sandbox_id}/files', 'Write a file', fileBody],
  ['get', '/sandboxes/{sandbox_id}/files', 'Read a file'],
  ['get', '/sandboxes/{sandbox_id}/files/list', 'List a directory'],
  ['put', '/sandboxes/{sandbox_id}/files/raw', 'Write a file from a raw body'],
  ['get', '/sandboxes/{sandbox_id}/files/raw', 'Read a file as a raw body'],
  ['put', '/sandboxes/{sandbox_id}/archive', 'Extract a tar'],
  ['get', '/sandboxes/{sandbox_id}/archive', 'Pack a directory as a tar'],
  ['get', '/sandboxes/{sandbox_id}/agent', 'Address and token of its agent'],
  ['get', '/sandboxes/{sandbox_id}/jobs', 'Its jobs'],
  ['get', '/jobs/{job_id}', 'A job'],
  ['get', '/jobs/{job_id}/wait', 'Wait for a job'],
  ['delete', '/jobs/{job_id}', 'Cancel a job'],
  ['get', '/v1/sandboxes', 'Every sandbox'],
];

/** The API's description, OpenAPI 3.1.0. */
export function openApiDocument(): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [method, path, summary, body] of OPERATIONS) {
    const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      schema: text,
    }));
    (paths[path] ??= {})[method] = {
      summary,
      ...(parameters.length > 0 ? { parameters } : {}),
      ...(body ? { requestBody: { required: true, content: { 'application/json': { schema: body } } } } : {}),
      ...(path === '/' || path === '/health' ? {} : { security: [{ APIKeyHeader: [] }] }),
      responses: { 200: { description: 'Successful Response' } },
    };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Sandbox Orchestrator', version: '0.1.0' },
    paths,
    components: { securitySchemes: { APIKeyHeader: { type: 'apiKey', in: 'header', name: 'X-API-Key' } } },
  };
}

/** The same for people: no script, nothing loaded from elsewhere. */
export function openApiPage(): string {
  const rows = OPERATIONS.map(
    ([method, path, summary]) =>
      `<tr><td>${method.toUpperCase()}</td><td><code>${path}</code></td><td>${summary}</td></tr>`,
  );
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Sandbox Orchestrator</title><h1>Sandbox Orchestrator</h1><p><a href="/openapi.json">openapi.json</a></p><table>${rows.join('')}</table></html>`;
}
