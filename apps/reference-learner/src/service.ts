import type { ServiceOptions } from '@espalier/nest';
import { AppModule } from './app.module.ts';
import { settings } from './config.ts';
import { PolicyHolder } from './policy-server/served-policy.ts';

/** How the service boots: the served version is restored before the first request can come. */
export const referenceLearner: ServiceOptions<typeof settings> = {
  name: 'reference-learner',
  module: (context) => AppModule.of(context),
  config: settings,
  http: true,
  configure: (app) => app.get(PolicyHolder).restore(),
};
