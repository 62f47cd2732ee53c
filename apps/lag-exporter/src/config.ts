import { z } from 'zod';

/** Settings of the lag-exporter, beside those every service has. */
export const lagExporterConfig = z.object({
  /** Between two measurements, milliseconds. */
  ESPALIER_LAG_INTERVAL_MS: z.coerce.number().int().min(100).default(5_000),
});

export type LagExporterConfig = z.infer<typeof lagExporterConfig>;
