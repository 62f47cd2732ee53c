/** Resources of a sandbox as Kubernetes quantities. */
export interface SandboxResources {
  readonly cpu?: string;
  readonly memory?: string;
}

/** Reads a task's `resources_json` (cpus, memory_mb); what it does not set is the driver's default. */
export function resourcesOf(resourcesJson: string): SandboxResources {
  let value: unknown;
  try {
    value = JSON.parse(resourcesJson === '' ? '{}' : resourcesJson);
  } catch {
    // Resources are a wish: a task is not refused over them.
    return {};
  }
  const { cpus, memory_mb: memory } = (value ?? {}) as { cpus?: unknown; memory_mb?: unknown };
  return {
    ...(typeof cpus === 'number' && cpus > 0 ? { cpu: String(cpus) } : {}),
    ...(typeof memory === 'number' && memory > 0 ? { memory: `${Math.ceil(memory)}Mi` } : {}),
  };
}
