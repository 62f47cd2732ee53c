/** Injection token of the service's configuration. */
export const MANAGER_CONFIG = Symbol('ManagerConfig');
