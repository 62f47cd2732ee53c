import { bootstrapService } from '@espalier/nest';
import { RolloutRunnerModule } from './app.module.ts';
import { rolloutRunnerConfig } from './config.ts';

await bootstrapService({ name: 'rollout-runner', module: RolloutRunnerModule, config: rolloutRunnerConfig });
