export type * from './generated/types.ts';
export {
  pastSchemaTexts,
  schemaTexts,
  type BodyDraftMap,
  type BodyMap,
  type BodyName,
  type EventBodyMap,
  type EventMap,
  type SchemaName,
  type TopicName,
} from './generated/maps.ts';
export { profiles, topics } from './generated/catalogue.ts';
export { canonicalJson } from './canonical-json.ts';
export type { CatalogueTopic, KindSettings, TopicKind, TopicProfile } from './catalogue-types.ts';
export {
  deadTopicOf,
  EventKeyError,
  groupIdOf,
  keyOf,
  nameOfTopic,
  physicalTopics,
  retryTopicOf,
  topicNames,
  topicOf,
  type PhysicalTopic,
} from './topics.ts';
export {
  attemptIdFor,
  batchIdFor,
  callIdFor,
  groupIdFor,
  IdentifierError,
  parseId,
  rolloutIdFor,
  RUN_ID,
  sampleIdFor,
  scoringIdFor,
  TASK_ID,
  trajectoryIdFor,
  type IdPath,
} from './identifiers.ts';
export {
  noEffects,
  type Effects,
  type EntryValue,
  type MachineInput,
  type MachineOutput,
  type Rejection,
  type Renewal,
  type StateMachine,
  type StateView,
} from './machine.ts';
