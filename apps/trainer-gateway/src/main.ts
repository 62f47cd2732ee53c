import { bootstrapService } from '@espalier/nest';
import { AppModule } from './app.module.ts';
import { trainerGatewayConfig } from './config.ts';

await bootstrapService({
  name: 'trainer-gateway',
  module: (context) => AppModule.of(context),
  config: trainerGatewayConfig,
  http: true,
});
