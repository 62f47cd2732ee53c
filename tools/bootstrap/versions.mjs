/** Versions of what setup brings, in one place. */
export const versions = {
  /** Oldest Node that may start the setup; everything after it runs on the Node 24 that npm brings. */
  nodeMinimum: 20,
  /** Oldest Java that runs the broker. */
  javaMinimum: 17,
  kafka: '4.3.1',
  scala: '2.13',
  /** Kafka logs through SLF4J 1.7 and brings no backend of its own. */
  slf4j: '1.7.36',
};
