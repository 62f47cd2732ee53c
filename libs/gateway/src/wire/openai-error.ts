/** An error as an OpenAI client expects it. */
export interface WireError {
  readonly status: number;
  readonly type: string;
  readonly code: string | null;
  readonly message: string;
}

const TYPES: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [429, 'rate_limit_error'],
]);

export function wireError(status: number, code: string | null, message: string): WireError {
  return {
    status,
    type: TYPES.get(status) ?? (status < 500 ? 'invalid_request_error' : 'server_error'),
    code,
    message,
  };
}

/** Body of an error answer. */
export const errorBody = ({ message, type, code }: WireError): Buffer =>
  Buffer.from(JSON.stringify({ error: { message, type, param: null, code } }));
