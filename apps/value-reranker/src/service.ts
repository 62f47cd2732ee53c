import type { ServiceOptions } from '@espalier/nest';
import { AppModule, refreshGauges } from './app.module.ts';
import { settings } from './config.ts';
import { ReportController } from './quality/report.controller.ts';

/** How the service boots. */
export const valueReranker: ServiceOptions<typeof settings> = {
  name: 'value-reranker',
  module: (context) => AppModule.of(context),
  config: settings,
  http: true,
  configure: (app, { lifecycle }) => lifecycle.add('gauges', refreshGauges(app.get(ReportController))),
};
