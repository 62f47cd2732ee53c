/** An answer other than 200: the status, the body and extra headers, exactly as they go out. */
export class ApiError extends Error {
  readonly code = 'API_REFUSED';

  constructor(
    readonly status: number,
    readonly body: Readonly<Record<string, unknown>>,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(typeof body['detail'] === 'string' ? body['detail'] : `HTTP ${status}`);
    this.name = 'ApiError';
  }

  get retryable(): boolean {
    return this.status >= 500;
  }

  static of(status: number, detail: string, headers: Readonly<Record<string, string>> = {}): ApiError {
    return new ApiError(status, { detail }, headers);
  }

  static sandboxNotFound(id: string): ApiError {
    return ApiError.of(404, `Sandbox ${id} not found`);
  }

  static jobNotFound(id: string): ApiError {
    return ApiError.of(404, `Job ${id} not found`);
  }
}
