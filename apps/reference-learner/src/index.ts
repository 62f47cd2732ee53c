export { AppModule } from './app.module.ts';
export { settings, type ReferenceLearnerConfig } from './config.ts';
export { referenceLearner } from './service.ts';
