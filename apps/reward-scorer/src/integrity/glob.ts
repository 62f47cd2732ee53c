/**
 * Whether a relative path matches a pattern: `*` is any run of characters but `/`, `?` one such character, and a leading or
 * inner `**` followed by `/` any number of folders.
 */
export function matchesGlob(path: string, pattern: string): boolean {
  const source = pattern
    .split(/(\*\*\/|\*\*|\*|\?)/)
    .map((part) => {
      switch (part) {
        case '**/':
          return '(?:[^/]+/)*';
        case '**':
          return '.*';
        case '*':
          return '[^/]*';
        case '?':
          return '[^/]';
        default:
          return part.replace(/[.+^${}()|[\]\\]/g, '\\$&');
      }
    })
    .join('');
  return new RegExp(`^${source}$`).test(path);
}
