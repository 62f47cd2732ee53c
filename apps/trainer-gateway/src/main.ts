import { bootstrapService } from '@espalier/nest';
import { AppModule } from './app.module.ts';
import { trainerGatewayConfig } from './config.ts';
import { serveOpenApi } from './learner-api/openapi.ts';

await bootstrapService({
  name: 'trainer-gateway',
  module: (context) => AppModule.of(context),
  config: trainerGatewayConfig,
  http: true,
  configure: serveOpenApi,
});
