/** The object store could not do what was asked. */
export class ObjectStoreError extends Error {
  /** `OBJECT_MISSING`, `OBJECT_CORRUPT`, `OBJECT_STORE_FULL`, `OBJECT_STORE_UNAVAILABLE` or `OBJECT_KEY_INVALID`. */
  readonly code: string;
  readonly retryable: boolean;
  constructor(code: string, message: string, options?: { retryable?: boolean; cause?: unknown }) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options?.retryable ?? false;
  }
}
