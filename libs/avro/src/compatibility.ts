import avsc from 'avsc';
import { logicalTypes } from './logical-types.ts';

const typeOf = (text: string): avsc.Type => avsc.Type.forSchema(JSON.parse(text) as avsc.Schema, { logicalTypes });

/**
 * FULL_TRANSITIVE: the current schema reads every released one, and every released one reads the current.
 * Returns one line for each pair that does not resolve.
 */
export function compatibilityProblems(name: string, current: string, released: readonly string[]): string[] {
  const problems: string[] = [];
  released.forEach((past, index) => {
    const pairs: [string, string, string][] = [
      [current, past, `cannot read release ${index + 1}`],
      [past, current, `cannot be read by release ${index + 1}`],
    ];
    for (const [reader, writer, what] of pairs) {
      try {
        typeOf(reader).createResolver(typeOf(writer));
      } catch (error) {
        problems.push(`${name}: the current schema ${what}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  });
  return problems;
}
