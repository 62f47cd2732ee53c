/** Lines of progress on standard error, so that a command's own output stays alone on standard output. */
export function progress(stream = process.stderr) {
  const running = new Map();
  const started = Date.now();
  const timer = setInterval(() => {
    if (running.size === 0) return;
    stream.write(`  ... ${[...running.keys()].join(', ')} (${seconds(Date.now() - started)} so far)\n`);
  }, 15_000);
  timer.unref();
  return {
    async step(title, work) {
      const begun = Date.now();
      running.set(title, begun);
      try {
        const outcome = await work();
        stream.write(`  ✓ ${title}: ${outcome} (${seconds(Date.now() - begun)})\n`);
      } catch (error) {
        stream.write(`  ✗ ${title}\n`);
        throw error;
      } finally {
        running.delete(title);
      }
    },
    close: () => clearInterval(timer),
  };
}

export const seconds = (ms) => `${(ms / 1_000).toFixed(1)} s`;
