export { objectRef, runConfig, trajectoryCounts } from './builders.ts';
export { asLogged, MachineDriver, type LoggedEvent } from './machines/machine-driver.ts';
