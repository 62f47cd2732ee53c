import type { DriverSandbox } from '../drivers/driver.ts';

/** `status` and `status_message` of the contract. */
export function statusOf(sandbox: DriverSandbox): { status: string; status_message: string } {
  switch (sandbox.phase) {
    case 'creating':
      return { status: 'pending', status_message: sandbox.message };
    case 'ready':
      return { status: 'ready', status_message: '' };
    case 'failed':
      return {
        status: 'failed',
        status_message: sandbox.failure ? `${sandbox.failure.code}: ${sandbox.failure.message}` : '',
      };
  }
}

/** Body of `GET /sandboxes/X` and of wait. */
export function sandboxView(sandbox: DriverSandbox, namespace: string, ready: boolean): Record<string, unknown> {
  return {
    sandbox_id: sandbox.id,
    namespace,
    image: sandbox.request.image,
    pod_name: `sandbox-${sandbox.id}`,
    block_network: sandbox.request.block_network,
    cpu: sandbox.request.cpu,
    memory: sandbox.request.memory,
    created_at: sandbox.createdAt / 1000,
    ready,
    ...statusOf(sandbox),
  };
}
