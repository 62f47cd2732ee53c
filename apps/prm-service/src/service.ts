import type { ServiceOptions } from '@espalier/nest';
import { AppModule } from './app.module.ts';
import { settings } from './config.ts';

/** How the service boots. */
export const prmService: ServiceOptions<typeof settings> = {
  name: 'prm-service',
  module: (context) => AppModule.of(context),
  config: settings,
  http: true,
};
