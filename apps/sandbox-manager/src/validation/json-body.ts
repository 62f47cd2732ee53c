import { invalid } from './issue.ts';

const JSON_TYPE = /^application\/(?:[^;]*\+)?json\s*(?:;|$)/i;

/** A body as it came, before anything is known of its route. */
export interface RawBody {
  readonly contentType: string;
  readonly bytes: Buffer;
}

export const isJson = (body: RawBody): boolean => JSON_TYPE.test(body.contentType);

/**
 * The parsed JSON of a body; undefined when it has none. Throws 422 `json_invalid`: that comes before the key is
 * looked at.
 */
export function parseJson(body: RawBody): unknown {
  if (!isJson(body) || body.bytes.length === 0) return undefined;
  try {
    return JSON.parse(body.bytes.toString('utf8')) as unknown;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    const position = Number(/position (\d+)/.exec(text)?.[1] ?? 0);
    throw invalid([
      { type: 'json_invalid', loc: ['body', position], msg: 'JSON decode error', input: {}, ctx: { error: text } },
    ]);
  }
}

/** The body as an object of fields. Throws 422 `missing` or `model_attributes_type`. */
export function objectBody(body: RawBody): Record<string, unknown> {
  const parsed = isJson(body) ? parseJson(body) : body.bytes.toString('utf8');
  if (parsed === undefined || parsed === null || (parsed === '' && body.bytes.length === 0))
    throw invalid([{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }]);
  if (typeof parsed !== 'object' || Array.isArray(parsed))
    throw invalid([
      {
        type: 'model_attributes_type',
        loc: ['body'],
        msg: 'Input should be a valid dictionary or object to extract fields from',
        input: parsed,
      },
    ]);
  return parsed as Record<string, unknown>;
}
