/** Path patterns and the one method that `Allow` names for each: the first that the original matches. */
const ROUTES: readonly (readonly [RegExp, string])[] = [
  [/^\/$/, 'GET'],
  [/^\/health$/, 'GET'],
  [/^\/resources$/, 'GET'],
  [/^\/docs$/, 'GET'],
  [/^\/redoc$/, 'GET'],
  [/^\/openapi\.json$/, 'GET'],
  [/^\/sandboxes$/, 'POST'],
  [/^\/sandboxes\/[^/]+$/, 'DELETE'],
  [/^\/sandboxes\/[^/]+\/wait$/, 'GET'],
  [/^\/sandboxes\/[^/]+\/heartbeat$/, 'POST'],
  [/^\/sandboxes\/[^/]+\/exec$/, 'POST'],
  [/^\/sandboxes\/[^/]+\/apply_patch$/, 'POST'],
  [/^\/sandboxes\/[^/]+\/files$/, 'POST'],
  [/^\/sandboxes\/[^/]+\/files\/list$/, 'GET'],
  [/^\/sandboxes\/[^/]+\/files\/raw$/, 'GET'],
  [/^\/sandboxes\/[^/]+\/archive$/, 'GET'],
  [/^\/sandboxes\/[^/]+\/agent$/, 'GET'],
  [/^\/sandboxes\/[^/]+\/jobs$/, 'GET'],
  [/^\/jobs\/[^/]+$/, 'GET'],
  [/^\/jobs\/[^/]+\/wait$/, 'GET'],
];

/** The method to name in `Allow` for a known path, else null. */
export function allowedMethod(path: string): string | null {
  return ROUTES.find(([pattern]) => pattern.test(path))?.[1] ?? null;
}
