export { loadConfig, type ManagerConfig } from './config.ts';
export { startManager, type RunningManager } from './start-manager.ts';
