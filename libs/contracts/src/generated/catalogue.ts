// Generated from schemas/ by `npm run contracts:generate`. Do not edit.
import type { CatalogueTopic, TopicProfile } from '../catalogue-types.ts';
import type { TopicName } from './maps.ts';

export const topics: Readonly<Record<TopicName, CatalogueTopic>> = {
  'run.submitted': {
    key: 'run_id',
    from: ['cli', 'any producer'],
    to: ['RunProcessor'],
    kind: 'fact',
    consumers: [
      {
        group: 'run-processor',
        retryDelaysMs: [],
      },
    ],
  },
  'run.commanded': {
    key: 'run_id',
    from: ['cli', 'trainer-gateway'],
    to: ['RunProcessor'],
    kind: 'fact',
    consumers: [
      {
        group: 'run-processor',
        retryDelaysMs: [],
      },
    ],
  },
  'run.reported': {
    key: 'run_id',
    from: ['RunProcessor'],
    to: ['everyone'],
    kind: 'fact',
    consumers: [],
  },
  'task.submitted': {
    key: 'run_id',
    from: ['cli', 'any producer'],
    to: ['RunProcessor'],
    kind: 'fact',
    consumers: [
      {
        group: 'run-processor',
        retryDelaysMs: [],
      },
    ],
  },
  'group.opened': {
    key: 'group_id',
    from: ['RunProcessor'],
    to: ['GroupProcessor'],
    kind: 'fact',
    consumers: [
      {
        group: 'group-processor',
        retryDelaysMs: [],
      },
    ],
  },
  'group.commanded': {
    key: 'group_id',
    from: ['RunProcessor'],
    to: ['GroupProcessor'],
    kind: 'fact',
    consumers: [
      {
        group: 'group-processor',
        retryDelaysMs: [],
      },
    ],
  },
  'rollout.requested': {
    key: 'attempt_id',
    from: ['GroupProcessor'],
    to: ['rollout-runner'],
    kind: 'work',
    consumers: [
      {
        group: 'rollout-runner',
        retryDelaysMs: [5000, 60000],
      },
    ],
  },
  'rollout.reported': {
    key: 'group_id',
    from: ['rollout-runner', 'reward-scorer', 'prm-service'],
    to: ['GroupProcessor'],
    kind: 'fact',
    consumers: [
      {
        group: 'group-processor',
        retryDelaysMs: [],
      },
    ],
  },
  'rollout.alive': {
    key: null,
    from: ['rollout-runner', 'reward-scorer', 'prm-service'],
    to: ['GroupProcessor'],
    kind: 'heartbeat',
    consumers: [
      {
        group: 'group-processor',
        retryDelaysMs: [],
      },
    ],
  },
  'rollout.ruled': {
    key: 'group_id',
    from: ['GroupProcessor'],
    to: ['all workers'],
    kind: 'ruling',
    consumers: [],
  },
  'model.called': {
    key: 'attempt_id',
    from: ['rollout-runner'],
    to: ['adopters', 'console', 'metrics'],
    kind: 'fact',
    consumers: [],
  },
  'trajectory.recorded': {
    key: 'group_id',
    from: ['rollout-runner'],
    to: ['GroupProcessor'],
    kind: 'fact',
    consumers: [
      {
        group: 'group-processor',
        retryDelaysMs: [],
      },
    ],
  },
  'scoring.requested': {
    key: 'trajectory_id',
    from: ['GroupProcessor'],
    to: ['reward-scorer', 'prm-service'],
    kind: 'work',
    consumers: [
      {
        group: 'reward-scorer',
        retryDelaysMs: [5000, 60000],
      },
      {
        group: 'prm-service',
        retryDelaysMs: [5000, 60000],
      },
    ],
  },
  'reward.reported': {
    key: 'group_id',
    from: ['reward-scorer', 'prm-service'],
    to: ['GroupProcessor'],
    kind: 'fact',
    consumers: [
      {
        group: 'group-processor',
        retryDelaysMs: [],
      },
    ],
  },
  'trajectory.scored': {
    key: 'group_id',
    from: ['GroupProcessor'],
    to: ['downstream', 'value-reranker'],
    kind: 'fact',
    consumers: [
      {
        group: 'value-reranker',
        retryDelaysMs: [5000, 60000],
      },
    ],
  },
  'rollout.ended': {
    key: 'run_id',
    from: ['GroupProcessor'],
    to: ['RunProcessor'],
    kind: 'fact',
    consumers: [
      {
        group: 'run-processor',
        retryDelaysMs: [],
      },
    ],
  },
  'group.decided': {
    key: 'run_id',
    from: ['GroupProcessor'],
    to: ['RunProcessor', 'value-reranker'],
    kind: 'fact',
    consumers: [
      {
        group: 'run-processor',
        retryDelaysMs: [],
      },
      {
        group: 'value-reranker',
        retryDelaysMs: [5000, 60000],
      },
    ],
  },
  'batch.offered': {
    key: 'run_id',
    from: ['RunProcessor'],
    to: ['learners'],
    kind: 'fact',
    consumers: [],
  },
  'learner.joined': {
    key: 'run_id',
    from: ['trainer-gateway'],
    to: ['RunProcessor'],
    kind: 'fact',
    consumers: [
      {
        group: 'run-processor',
        retryDelaysMs: [],
      },
    ],
  },
  'batch.trained': {
    key: 'run_id',
    from: ['trainer-gateway'],
    to: ['RunProcessor'],
    kind: 'fact',
    consumers: [
      {
        group: 'run-processor',
        retryDelaysMs: [],
      },
    ],
  },
  'policy.published': {
    key: 'run_id',
    from: ['trainer-gateway'],
    to: ['RunProcessor', 'rollout-runner'],
    kind: 'fact',
    consumers: [
      {
        group: 'run-processor',
        retryDelaysMs: [],
      },
    ],
  },
  'ranking.decided': {
    key: 'group_id',
    from: ['value-reranker'],
    to: ['downstream'],
    kind: 'fact',
    consumers: [],
  },
  'sandbox.reported': {
    key: 'sandbox_id',
    from: ['sandbox-manager'],
    to: ['audit', 'console'],
    kind: 'fact',
    consumers: [],
  },
  'journal.group': {
    key: null,
    from: ['GroupProcessor'],
    to: ['replay'],
    kind: 'journal',
    consumers: [],
  },
  'journal.run': {
    key: null,
    from: ['RunProcessor'],
    to: ['replay'],
    kind: 'journal',
    consumers: [],
  },
  'state.group': {
    key: null,
    from: ['GroupProcessor'],
    to: ['GroupProcessor'],
    kind: 'state',
    consumers: [],
  },
  'state.run': {
    key: null,
    from: ['RunProcessor'],
    to: ['RunProcessor'],
    kind: 'state',
    consumers: [],
  },
};

export const profiles: Readonly<Record<'embedded' | 'production', TopicProfile>> = {
  embedded: {
    partitions: 4,
    replication: 1,
    minInsyncReplicas: 1,
    kinds: {
      fact: {
        retentionMs: 604800000,
        segmentBytes: 16777216,
      },
      work: {
        retentionMs: 604800000,
        segmentBytes: 16777216,
      },
      heartbeat: {
        retentionMs: 600000,
        segmentBytes: 1048576,
      },
      ruling: {
        retentionMs: 86400000,
        segmentBytes: 4194304,
      },
      journal: {
        retentionMs: 604800000,
        segmentBytes: 16777216,
      },
      state: {
        compact: true,
        segmentBytes: 4194304,
        maxCompactionLagMs: 60000,
        minCleanableDirtyRatio: 0.2,
      },
      retry: {
        retentionMs: 604800000,
        segmentBytes: 4194304,
      },
      dead: {
        retentionMs: 2592000000,
        segmentBytes: 4194304,
      },
    },
  },
  production: {
    partitions: 48,
    replication: 3,
    minInsyncReplicas: 2,
    kinds: {
      fact: {
        retentionMs: 2592000000,
        segmentBytes: 268435456,
      },
      work: {
        retentionMs: 1209600000,
        segmentBytes: 134217728,
      },
      heartbeat: {
        retentionMs: 600000,
        segmentBytes: 16777216,
      },
      ruling: {
        retentionMs: 172800000,
        segmentBytes: 67108864,
      },
      journal: {
        retentionMs: 2592000000,
        segmentBytes: 268435456,
      },
      state: {
        compact: true,
        segmentBytes: 33554432,
        maxCompactionLagMs: 300000,
        minCleanableDirtyRatio: 0.2,
      },
      retry: {
        retentionMs: 1209600000,
        segmentBytes: 67108864,
      },
      dead: {
        retentionMs: 7776000000,
        segmentBytes: 67108864,
      },
    },
  },
};
