/** Ports of the one-machine plane on the loopback interface, first replica of each service. */
export const planePorts = {
  kafka: 29_092,
  kafkaController: 29_093,
  services: {
    'sandbox-manager': { http: 4100, metrics: 4200 },
    'rollout-runner': { metrics: 4201 },
    'reward-scorer': { metrics: 4202 },
    'prm-service': { metrics: 4203 },
    'trainer-gateway': { http: 4104, metrics: 4204 },
    'value-reranker': { http: 4105, metrics: 4205 },
    'lag-exporter': { metrics: 4206 },
    'reference-learner': { http: 4107, metrics: 4207 },
  },
} as const satisfies {
  kafka: number;
  kafkaController: number;
  services: Record<string, { http?: number; metrics: number }>;
};

/** Name of a service, of its app folder and of its log. */
export type ServiceName = keyof typeof planePorts.services;

export const serviceNames = Object.keys(planePorts.services) as ServiceName[];

/** Where one replica listens; a service without an HTTP interface of its own has `http: null`. */
export interface ServicePorts {
  readonly http: number | null;
  readonly metrics: number;
}

/** Each further replica of a service listens so much higher than the one before. */
const REPLICA_STRIDE = 20;

/** Ports of replica `index` (0, 1, ...) in the plane whose ports are fixed. */
export function fixedPorts(service: ServiceName, index: number): ServicePorts {
  const first: { http?: number; metrics: number } = planePorts.services[service];
  const raise = index * REPLICA_STRIDE;
  return { http: first.http === undefined ? null : first.http + raise, metrics: first.metrics + raise };
}

/** Takes ports for one replica from a list of free ones. */
export function takePorts(service: ServiceName, free: number[]): ServicePorts {
  const take = (): number => {
    const port = free.pop();
    if (port === undefined) throw new RangeError('fewer free ports than services need');
    return port;
  };
  return { http: 'http' in planePorts.services[service] ? take() : null, metrics: take() };
}
