const SHELL_NOISE = ['cannot set terminal process group', 'no job control in this shell'];
const TRACEBACK = 'Traceback (most recent call last):';

/**
 * What an interactive login shell without a terminal says by itself is dropped from stderr, and so are tracebacks of
 * profile scripts that miss a module. The final newline is lost: the contract has it so.
 */
export function withoutLoginNoise(text: string): string {
  const kept: string[] = [];
  let inTraceback = false;
  for (const line of text.replace(/\n$/, '').split('\n')) {
    if (inTraceback) {
      if (line === '' || line.startsWith('  ')) continue;
      inTraceback = false;
      if (/^(?:ModuleNotFoundError|ImportError):/.test(line)) continue;
    }
    if (line.startsWith(TRACEBACK)) inTraceback = true;
    else if (!SHELL_NOISE.some((noise) => line.includes(noise))) kept.push(line);
  }
  return kept.join('\n');
}
