import { bootstrapService } from '@espalier/nest';
import { prmService } from './service.ts';

await bootstrapService(prmService);
