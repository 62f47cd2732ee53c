import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TaskImage } from './task-image.ts';

/** A built image: a layer above the machine's root, and what commands in it start with. */
export interface LocalImage {
  readonly key: string;
  /** Topmost first. */
  readonly layers: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string | null;
}

/** Raise it when equal inputs are built differently. */
const BUILDER_VERSION = 1;

/** Identifies the base: an image must not outlive a change of what lies below it. */
function baseFingerprint(): string {
  const parts = ['/etc/os-release', '/var/lib/dpkg/status', '/usr/bin', '/usr/lib'].map((path) => {
    try {
      const { mtimeMs, size } = statSync(path);
      return `${path}:${mtimeMs}:${size}`;
    } catch {
      return `${path}:absent`;
    }
  });
  return parts.join('|');
}

/** The key of an image: equal plans over equal files on an equal base are one image. */
export function imageKey({ plan, context }: TaskImage): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify([BUILDER_VERSION, baseFingerprint(), plan]));
  for (const file of context) {
    hash.update(JSON.stringify([file.path, file.mode, file.content.length]));
    hash.update(file.content);
  }
  return hash.digest('hex').slice(0, 32);
}

/** Images on disk: `images/<key>/{diff/, image.json}`; directories with a dot in front are builds. */
export class ImageStore {
  readonly #root: string;

  constructor(stateRoot: string) {
    this.#root = join(stateRoot, 'images');
    mkdirSync(this.#root, { recursive: true, mode: 0o700 });
  }

  find(key: string): LocalImage | null {
    const description = join(this.#root, key, 'image.json');
    if (!existsSync(description)) return null;
    const { env, workdir, empty } = JSON.parse(readFileSync(description, 'utf8')) as {
      env: Record<string, string>;
      workdir: string | null;
      empty: boolean;
    };
    return { key, env, workdir, layers: empty ? [] : [join(this.#root, key, 'diff')] };
  }

  /** A fresh directory to build in. */
  begin(): { readonly directory: string; readonly upper: string; readonly work: string } {
    const directory = join(this.#root, `.build-${randomBytes(6).toString('hex')}`);
    mkdirSync(join(directory, 'diff'), { recursive: true, mode: 0o755 });
    mkdirSync(join(directory, 'work'));
    return { directory, upper: join(directory, 'diff'), work: join(directory, 'work') };
  }

  commit(directory: string, key: string, { plan }: TaskImage, empty: boolean): LocalImage {
    rmSync(join(directory, 'work'), { recursive: true, force: true });
    const description = { base: plan.base, env: plan.env, workdir: plan.workdir, empty };
    writeFileSync(join(directory, 'image.json'), JSON.stringify(description));
    try {
      renameSync(directory, join(this.#root, key));
    } catch (error) {
      // Another build of the same image was first: theirs is as good.
      this.discard(directory);
      if (!this.find(key)) throw error;
    }
    return this.find(key) as LocalImage;
  }

  discard(directory: string): void {
    rmSync(directory, { recursive: true, force: true });
  }

  /** Removes what interrupted builds left. */
  sweep(): void {
    for (const name of readdirSync(this.#root)) if (name.startsWith('.build-')) this.discard(join(this.#root, name));
  }
}
