import { bootstrapService } from '@espalier/nest';
import { valueReranker } from './service.ts';

await bootstrapService(valueReranker);
