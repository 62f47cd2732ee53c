import { bootstrapService } from '@espalier/nest';
import { AppModule } from './app.module.ts';
import { lagExporterConfig } from './config.ts';

await bootstrapService({ name: 'lag-exporter', module: AppModule, config: lagExporterConfig });
