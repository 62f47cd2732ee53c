/** Bytes that are not what their topic promises. Terminal: the record goes to a dead-letter topic with its bytes. */
export class DecodeError extends Error {
  readonly retryable = false;
  /** `AVRO_EMPTY`, `AVRO_FRAMING`, `AVRO_UNKNOWN_SCHEMA`, `AVRO_TRUNCATED`, `AVRO_TRAILING`, `AVRO_BLOCK_BOMB`, `AVRO_NOT_FINITE`, `AVRO_MALFORMED` or `AVRO_TOO_LARGE`. */
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** A value that does not fit the schema of its topic. Terminal: a bug or bad input of the producer. */
export class EncodeError extends Error {
  readonly code = 'AVRO_ENCODE';
  readonly retryable = false;
  /** Path of the offending field, e.g. `config.group.size`. */
  readonly path: string;
  constructor(schema: string, path: string, message: string) {
    super(`${schema}: ${path || '(root)'}: ${message}`);
    this.path = path;
  }
}
