export { eventually, freshPrefix, open } from '../kafka/open.ts';
