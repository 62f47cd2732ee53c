import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const skipped = new Set(['node_modules', 'dist', '.espalier', '.nx', '.git', 'coverage']);

/** All files under `folders` whose name satisfies `wanted`, sorted. */
export function filesUnder(folders, wanted) {
  const found = [];
  const walk = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) {
        if (!skipped.has(entry.name)) walk(join(folder, entry.name));
      } else if (wanted(entry.name)) found.push(join(folder, entry.name));
    }
  };
  for (const folder of folders) if (existsSync(folder)) walk(folder);
  return found.sort();
}

/** A digest of the files' contents and names. */
export function contentDigest(root, files) {
  const hash = createHash('sha256');
  for (const file of files)
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update('\0');
  return hash.digest('hex');
}

/** A digest of the files' names, sizes and times: cheaper, and good enough where a needless run does no harm. */
export function timesDigest(root, files) {
  const hash = createHash('sha256');
  for (const file of files) {
    const { size, mtimeMs } = statSync(file);
    hash.update(`${relative(root, file)} ${size} ${mtimeMs}\n`);
  }
  return hash.digest('hex');
}

const fileOf = (root, name) => join(root, '.espalier', 'stamps', name);

/** Whether the step `name` was last completed with this digest. */
export function isStamped(root, name, digest) {
  const file = fileOf(root, name);
  return existsSync(file) && readFileSync(file, 'utf8') === digest;
}

/** Remembers that the step `name` was completed with this digest. */
export function stamp(root, name, digest) {
  mkdirSync(dirname(fileOf(root, name)), { recursive: true });
  writeFileSync(fileOf(root, name), digest);
}
