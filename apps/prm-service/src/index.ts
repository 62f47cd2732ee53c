export { AppModule } from './app.module.ts';
export { settings, type PrmConfig } from './config.ts';
export { prmService } from './service.ts';
