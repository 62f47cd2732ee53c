import { Controller, Get, Header } from '@nestjs/common';
import { openApiDocument, openApiPage } from './openapi.ts';

@Controller()
export class ServiceController {
  @Get()
  root(): Record<string, string> {
    return { service: 'sandbox-orchestrator', version: '0.1.0', status: 'running' };
  }

  /** Always healthy, as the contract has it; `/health/ready` on the metrics port says the truth. */
  @Get('health')
  health(): Record<string, string> {
    return { status: 'healthy' };
  }

  @Get('openapi.json')
  document(): Record<string, unknown> {
    return openApiDocument();
  }

  @Get(['docs', 'redoc'])
  @Header('content-type', 'text/html; charset=utf-8')
  page(): string {
    return openApiPage();
  }
}
