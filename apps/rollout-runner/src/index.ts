export { RolloutRunnerModule } from './app.module.ts';
export { rolloutRunnerConfig, type RolloutRunnerConfig } from './config.ts';
