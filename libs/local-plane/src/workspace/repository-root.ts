import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PlaneError } from '../errors/plane-errors.ts';

/**
 * The root of the checkout this code runs from: the nearest folder upwards that holds `nx.json`. `ESPALIER_ROOT` wins.
 *
 * @throws PlaneError `PLANE_ROOT_NOT_FOUND` when this package was copied out of its repository.
 */
export function repositoryRoot(from: string = fileURLToPath(import.meta.url)): string {
  const given = process.env['ESPALIER_ROOT'];
  if (given !== undefined && given !== '') return given;
  for (let dir = dirname(from); ; dir = dirname(dir)) {
    if (existsSync(join(dir, 'nx.json'))) return dir;
    if (dirname(dir) === dir) {
      throw new PlaneError(
        'PLANE_ROOT_NOT_FOUND',
        `No folder above ${from} holds nx.json: run from a checkout of the repository, or set ESPALIER_ROOT to its root.`,
      );
    }
  }
}
