/** Default ports on the loopback, one table for all services (docs/ports.md). 0 takes any free port. */
const PORTS: Readonly<Record<string, { readonly http: number; readonly metrics: number }>> = {
  'sandbox-manager': { http: 4100, metrics: 4200 },
  'rollout-runner': { http: 0, metrics: 4201 },
  'reward-scorer': { http: 0, metrics: 4202 },
  'prm-service': { http: 0, metrics: 4203 },
  'trainer-gateway': { http: 4104, metrics: 4204 },
  'value-reranker': { http: 4105, metrics: 4205 },
  'lag-exporter': { http: 0, metrics: 4206 },
  'reference-learner': { http: 4107, metrics: 4207 },
};

/** Default ports of a service; any free ones for a service that is not in the table. */
export const portsOf = (name: string): { readonly http: number; readonly metrics: number } =>
  PORTS[name] ?? { http: 0, metrics: 0 };
