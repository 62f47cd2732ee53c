import { SandboxDriverError } from '../driver.ts';

const MEMORY: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

const refuse = (kind: string, text: string): never => {
  throw new SandboxDriverError('SANDBOX_QUANTITY', `${kind} quantity "${text}" is not understood`, false);
};

/** Bytes of a Kubernetes memory quantity: `512Mi`, `1G`, `0.5Gi`, plain bytes. Throws `SANDBOX_QUANTITY`. */
export function memoryBytes(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T|)$/.exec(text);
  if (!match || (match[2] === '' && match[1]?.includes('.') === true)) return refuse('memory', text);
  return Math.floor(Number(match[1]) * (MEMORY[match[2] ?? ''] ?? 1));
}

/** Cores of a Kubernetes CPU quantity: `4`, `0.5`, `500m`. Throws `SANDBOX_QUANTITY`. */
export function cpuCores(text: string): number {
  if (/^\d+(?:\.\d+)?m$/.test(text)) return Number(text.slice(0, -1)) / 1000;
  const value = Number(text);
  return text.trim() !== '' && Number.isFinite(value) && value >= 0 ? value : refuse('cpu', text);
}
