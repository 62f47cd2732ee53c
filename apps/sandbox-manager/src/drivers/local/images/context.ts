import { posix } from 'node:path';
import type { DockerfileStep, TaskFile } from '@espalier/tasks';

/** A file to lay into an image. */
export interface PlacedFile {
  /** Absolute path in the image. */
  readonly path: string;
  readonly mode: number;
  readonly content: Buffer;
}

/** Thrown when a COPY names nothing in the build context. */
export class BuildContextError extends Error {
  readonly code = 'IMAGE_CONTEXT';
  readonly retryable = false;
}

function pattern(source: string): RegExp {
  const text = source
    .replace(/[.+^${}()|\\]/g, '\\$&')
    .replaceAll('**', '\0')
    .replaceAll('*', '[^/]*')
    .replaceAll('?', '[^/]')
    .replaceAll('\0', '.*');
  return new RegExp(`^${text}$`);
}

const PATTERN_CHARACTERS = /[*?[]/;

/** What a COPY lays where. Throws {@link BuildContextError}. */
export function placeCopy(step: Extract<DockerfileStep, { kind: 'copy' }>, context: readonly TaskFile[]): PlacedFile[] {
  const placed: PlacedFile[] = [];
  const into = step.target.endsWith('/') || step.sources.length > 1;
  const chmod = step.chmod === null ? null : Number.parseInt(step.chmod, 8);
  const place = (path: string, file: TaskFile): void =>
    void placed.push({ path: posix.normalize(path), mode: chmod ?? file.mode, content: file.content });
  for (const source of step.sources) {
    const before = placed.length;
    const normal = posix.normalize(source.replace(/^\/+/, '')).replace(/\/$/, '');
    const name = normal === '.' ? '' : normal;
    if (name.startsWith('..')) throw new BuildContextError(`line ${step.line}: COPY ${source} leaves environment/`);
    if (PATTERN_CHARACTERS.test(name)) {
      const matcher = pattern(name);
      const below = pattern(`${name}/**`);
      for (const file of context) {
        if (matcher.test(file.path)) place(`${step.target}/${posix.basename(file.path)}`, file);
        else if (below.test(file.path)) {
          // A matched folder gives its content, as everywhere in COPY.
          const depth = name.split('/').length;
          place(`${step.target}/${file.path.split('/').slice(depth).join('/')}`, file);
        }
      }
    } else {
      const exact = context.find((file) => file.path === name);
      if (exact) place(into ? `${step.target}/${posix.basename(name)}` : step.target, exact);
      const prefix = name === '' ? '' : `${name}/`;
      for (const file of context)
        if (file.path.startsWith(prefix) && file !== exact)
          place(`${step.target}/${file.path.slice(prefix.length)}`, file);
    }
    if (placed.length === before)
      throw new BuildContextError(`line ${step.line}: COPY ${source} matches no file below environment/`);
  }
  return placed;
}

/** Applies `.dockerignore` (patterns, `!` exceptions, comments). */
export function buildContext(files: readonly TaskFile[]): TaskFile[] {
  const ignore = files.find((file) => file.path === '.dockerignore');
  if (!ignore) return [...files];
  const rules = ignore.content
    .toString('utf8')
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const keep = line.startsWith('!');
      const name = line.replace(/^!/, '').replace(/^\/+/, '').replace(/\/$/, '');
      return { keep, self: pattern(name), below: pattern(`${name}/**`) };
    });
  return files.filter((file) => {
    let kept = true;
    for (const rule of rules) if (rule.self.test(file.path) || rule.below.test(file.path)) kept = rule.keep;
    return kept;
  });
}
