import { bootstrapService } from '@espalier/nest';
import { referenceLearner } from './service.ts';

await bootstrapService(referenceLearner);
