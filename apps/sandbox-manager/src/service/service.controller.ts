import { Controller, Get } from '@nestjs/common';

@Controller()
export class ServiceController {
  @Get()
  root(): Record<string, string> {
    return { service: 'sandbox-orchestrator', version: '0.1.0', status: 'running' };
  }

  /** Always healthy, as the contract has it; `/readyz` on the metrics port says the truth. */
  @Get('health')
  health(): Record<string, string> {
    return { status: 'healthy' };
  }
}
