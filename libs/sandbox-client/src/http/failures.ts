import {
  ExecChannelError,
  SandboxCreateError,
  SandboxFileError,
  SandboxLostError,
  SandboxManagerUnavailableError,
  SandboxRequestError,
  type SandboxError,
} from '../errors.ts';

/** What a call was about, for its errors. */
export interface CallContext {
  readonly sandboxId: string;
  readonly what: 'create' | 'wait' | 'get' | 'delete' | 'heartbeat' | 'agent' | 'exec' | 'job' | 'jobs' | 'file';
  readonly path?: string;
}

function detailOf(text: string): string {
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    return typeof detail === 'string' ? detail : JSON.stringify(detail ?? text);
  } catch {
    return text.slice(0, 500);
  }
}

/** The coded error of a refused call. */
export function readFailure(status: number, body: string, context: CallContext): SandboxError {
  const detail = detailOf(body);
  const where = context.sandboxId === '' ? context.what : `${context.what} in sandbox ${context.sandboxId}`;
  const message = `${where}: ${detail} (HTTP ${status})`;
  // Missing paths and missing sandboxes are both 404: the text tells them apart.
  if (context.what === 'file' && context.path !== undefined && !/^Sandbox /.test(detail)) {
    if (status === 404) return new SandboxFileError(message, context.path, true);
    if (status === 400) return new SandboxFileError(message, context.path, false);
  }
  if (status === 404 && context.what === 'job') return new ExecChannelError(message);
  if (status === 404 || status === 410) return new SandboxLostError(message);
  if (status === 401 || status === 403 || status === 409 || status === 422 || status === 400)
    return new SandboxRequestError(message, status);
  if (context.what === 'create') return new SandboxCreateError(message, true);
  if (context.what === 'exec' || context.what === 'job') return new ExecChannelError(message);
  return new SandboxManagerUnavailableError(message);
}
