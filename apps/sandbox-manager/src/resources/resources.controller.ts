import { Controller, Get, Inject } from '@nestjs/common';
import type { ManagerConfig } from '../config.ts';
import { cpuCores, memoryBytes } from '../drivers/local/quantities.ts';
import { MANAGER_CONFIG } from '../http/tokens.ts';
import { SandboxesService } from '../sandboxes/sandboxes.service.ts';

interface Quantity {
  readonly cpu: number;
  readonly memory_bytes: number;
}

const sum = (parts: readonly Quantity[]): Quantity => ({
  cpu: parts.reduce((total, part) => total + part.cpu, 0),
  memory_bytes: parts.reduce((total, part) => total + part.memory_bytes, 0),
});

@Controller()
export class ResourcesController {
  constructor(
    @Inject(SandboxesService) private readonly sandboxes: SandboxesService,
    @Inject(MANAGER_CONFIG) private readonly config: ManagerConfig,
  ) {}

  @Get('resources')
  resources(): Record<string, unknown> {
    const nodes = this.sandboxes.driver.nodes().map(({ name, cpu, memoryBytes: bytes }) => {
      const quantity: Quantity = { cpu, memory_bytes: bytes };
      return { name, capacity: quantity, allocatable: quantity };
    });
    const live = this.sandboxes.driver.list().filter((sandbox) => sandbox.phase !== 'failed');
    const pods = live.map((sandbox) => ({
      name: `sandbox-${sandbox.id}`,
      namespace: this.config.namespace,
      phase: sandbox.phase === 'ready' ? 'Running' : 'Pending',
      cpu_request: cpuCores(sandbox.request.cpu),
      memory_request_bytes: memoryBytes(sandbox.request.memory),
    }));
    const allocatable = sum(nodes.map((node) => node.allocatable));
    const requested = sum(pods.map((pod) => ({ cpu: pod.cpu_request, memory_bytes: pod.memory_request_bytes })));
    return {
      status: 'ok',
      nodes,
      total_capacity: sum(nodes.map((node) => node.capacity)),
      total_allocatable: allocatable,
      total_requested: requested,
      available: {
        cpu: Math.max(0, allocatable.cpu - requested.cpu),
        memory_bytes: Math.max(0, allocatable.memory_bytes - requested.memory_bytes),
      },
      sandbox_pods: pods,
    };
  }
}
